-- Up to which position of the node that it follows each old copy here has got, as far as that is for
-- us to know. One that somebody has renamed is known by its slot.
SELECT coalesce(s.subslotname, s.subname)::text AS name,
       CASE WHEN has_function_privilege('pg_replication_origin_progress(text, boolean)', 'EXECUTE')
            THEN pg_wal_lsn_diff(pg_replication_origin_progress(format('pg_%s', s.oid), true), '0/0')::bigint
       END AS reached
  FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
 WHERE coalesce(s.subslotname, s.subname) ~ '^shardid_back_[0-9]+$'
