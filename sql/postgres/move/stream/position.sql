-- Up to where this server's writes are on disk, and so may be sent. What was
-- committed before the fence is: the fence's own commit came after it.
SELECT pg_current_wal_flush_lsn()::text AS position
