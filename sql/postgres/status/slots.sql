-- Replication slots that bear our name, how much WAL each keeps, and whether it is lost for good.
SELECT name AS slot,
       active,
       coalesce(pg_wal_lsn_diff(
           CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
           restart_lsn), 0)::bigint AS bytes,
       is_lost
  FROM slot
 WHERE name LIKE 'shardid%'
 ORDER BY name
