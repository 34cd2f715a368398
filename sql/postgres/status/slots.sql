-- Replication slots that bear our name, and how much WAL each keeps.
SELECT slot_name::text AS slot,
       active,
       coalesce(pg_wal_lsn_diff(
           CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
           restart_lsn), 0)::bigint AS bytes
  FROM pg_replication_slots
 WHERE slot_name LIKE 'shardid%'
 ORDER BY slot_name
