-- Slots of moves on this server ($1): whether somebody reads each, how many bytes
-- of WAL it keeps, and whether it is lost for good.
SELECT name AS slot, active,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint AS bytes, is_lost
  FROM slot
 WHERE name = ANY ($1) AND database = current_database()
