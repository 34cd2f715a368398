-- How many bytes the targets of other moves from this server are behind, but for
-- that of a stream ($1).
SELECT slot_name::text AS name, greatest(0, pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn))::bigint AS bytes
  FROM pg_replication_slots
 WHERE slot_name LIKE 'shardid\_move\_%' AND slot_name <> $1 AND active
   AND database = current_database()
