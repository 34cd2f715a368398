-- Ends those of these sessions ($1) that are at a statement, which no function can catch.
SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1::integer[]) AND state = 'active' AND pg_terminate_backend(pid)
