-- Up to where this server's own writes are on disk.
SELECT pg_current_wal_flush_lsn()::text AS position
