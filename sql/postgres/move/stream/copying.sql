-- How far a subscription's copy is: tables in all, those copied, and those that
-- are also at one moment with all others (a copied one may be ahead of what the
-- stream has applied); how often it has failed, and whether it is enabled.
SELECT count(r.srrelid) AS tables,
       count(r.srrelid) FILTER (WHERE r.srsubstate IN ('r', 's')) AS copied,
       count(r.srrelid) FILTER (WHERE r.srsubstate = 'r') AS ready,
       coalesce((SELECT t.sync_error_count + t.apply_error_count
                   FROM pg_stat_subscription_stats t WHERE t.subid = s.oid), 0)::bigint AS errors,
       s.subenabled AS enabled
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
  LEFT JOIN pg_subscription_rel r ON r.srsubid = s.oid
 WHERE s.subname = $1
 GROUP BY s.oid, s.subenabled
