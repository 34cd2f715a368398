-- Ends those of these sessions ($1) that are at a statement, which no function can catch. In this order, whatever the
-- planner thinks of it.
SELECT pid FROM pg_stat_activity
 WHERE CASE WHEN pid = ANY ($1::integer[]) AND state = 'active' THEN pg_terminate_backend(pid) ELSE false END
