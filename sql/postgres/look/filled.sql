-- The copies of shards that are filled here by subscriptions of moves: by what slot, which shard, which the guard of its
-- tables says, and up to which position of the other node each has got.
SELECT coalesce(s.subslotname, s.subname)::text AS stream, guarded.shard,
       (SELECT pg_wal_lsn_diff(max(far.position), '0/0')::bigint
          FROM (SELECT o.remote_lsn AS position -- of those that are there: a move may be removing one
                  FROM pg_replication_origin_status o WHERE o.external_id ~ format('^pg_%s(_[0-9]+)?$', s.oid)
                 UNION ALL
                SELECT r.srsublsn FROM pg_subscription_rel r WHERE r.srsubid = s.oid) AS far) AS reached
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
 CROSS JOIN LATERAL (
           SELECT max(substring(encode(t.tgargs, 'escape') FROM '^([0-9]{1,9})(?![0-9])')::integer) AS shard
             FROM pg_class other
             JOIN pg_trigger t ON t.tgrelid = other.oid
            -- Each schema once: its tables may be thousands.
            WHERE other.relnamespace IN (SELECT c.relnamespace FROM pg_subscription_rel r JOIN pg_class c ON c.oid = r.srrelid WHERE r.srsubid = s.oid)
              AND t.tgfoid = to_regprocedure('shardid.refuse_write()') AND t.tgenabled <> 'D'
              AND t.tgparentid = 0) AS guarded
 WHERE coalesce(s.subslotname, s.subname) ~ '^shardid_(move|back)_[0-9]+$' AND guarded.shard IS NOT NULL
 ORDER BY 1
