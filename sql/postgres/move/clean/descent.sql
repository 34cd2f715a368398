-- Of which server, timeline and database this node's writes are, up to where they are on disk, what its server keeps of
-- earlier timelines, as far as that is for us to read, the slots by which copies follow it, and those of them that are lost
-- for good. No row of a standby.
SELECT c.system_identifier,
       ('x' || lpad(left(pg_walfile_name(w.position), 8), 16, '0'))::bit(64)::bigint AS timeline,
       (SELECT d.oid::bigint FROM pg_database d WHERE d.datname = current_database()) AS database,
       pg_wal_lsn_diff(w.position, '0/0')::bigint AS position,
       CASE WHEN has_function_privilege('pg_read_file(text, bigint, bigint, boolean)', 'EXECUTE')
            THEN pg_read_file(format('pg_wal/%s.history', left(pg_walfile_name(w.position), 8)), 0, 1000000, true)
       END AS history,
       ARRAY(SELECT s.name FROM slot s WHERE s.database = current_database() AND s.name ~ '^shardid_(move|back)_[0-9]+$') AS slots,
       ARRAY(SELECT s.name FROM slot s WHERE s.database = current_database() AND s.name ~ '^shardid_(move|back)_[0-9]+$' AND s.is_lost) AS lost
  FROM pg_control_system() c, CAST(CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_flush_lsn() END AS pg_lsn) AS w(position)
 WHERE w.position IS NOT NULL
