-- Up to where this server has written.
SELECT pg_current_wal_insert_lsn()::text AS position
