-- Slots of moves on this server: whether somebody reads each, and how many bytes
-- of WAL it keeps.
SELECT slot_name::text AS slot, active,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint AS bytes
  FROM pg_replication_slots
 WHERE slot_name = ANY ($1) AND database = current_database()
