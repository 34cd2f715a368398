-- The slots of this server, each with whether it is lost for good: the server has removed WAL that nobody had read from it
-- yet, as max_slot_wal_keep_size bids it, or has given it up for another reason, which servers from 17 on name.
WITH slot AS (
    SELECT s.slot_name::text AS name, s.database, s.active, s.restart_lsn, s.confirmed_flush_lsn,
           coalesce(s.wal_status = 'lost', false) OR to_jsonb(s) ->> 'invalidation_reason' IS NOT NULL AS is_lost
      FROM pg_replication_slots s
)
