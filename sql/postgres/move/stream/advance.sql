-- Lets a slot ($1) that nobody reads forget what is behind us: its reader will
-- get what is written from here on.
SELECT pg_replication_slot_advance($1, pg_current_wal_flush_lsn())::text
