-- How far a subscription's copy is: tables in all and those done, rows and
-- bytes of those under way, and how often it has failed.
SELECT count(r.srrelid) AS tables,
       count(r.srrelid) FILTER (WHERE r.srsubstate IN ('r', 's')) AS copied,
       coalesce(sum(p.tuples_processed), 0)::bigint AS rows,
       coalesce(sum(p.bytes_processed), 0)::bigint AS bytes,
       coalesce(sum(pg_total_relation_size(r.srrelid)), 0)::bigint AS size_bytes,
       coalesce((SELECT t.sync_error_count + t.apply_error_count
                   FROM pg_stat_subscription_stats t WHERE t.subid = s.oid), 0)::bigint AS errors
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
  LEFT JOIN pg_subscription_rel r ON r.srsubid = s.oid
  LEFT JOIN pg_stat_progress_copy p ON p.relid = r.srrelid AND p.datname = current_database()
 WHERE s.subname = $1
 GROUP BY s.oid
