-- Cancels what these sessions are at.
SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = ANY ($1::integer[]) AND state <> 'idle'
