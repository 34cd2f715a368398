-- Keeps writers out of the tables of a schema ($1) for a moment, having waited
-- for those at work for at most $2 milliseconds. Whoever waits goes on afterwards.
SELECT statement FROM (
    SELECT 1 AS step, format('SET LOCAL statement_timeout = %s', $2::bigint) AS statement
    UNION ALL
    SELECT 2, format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', string_agg(format('ONLY %I.%I', n.nspname, c.relname), ', ' ORDER BY c.oid))
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
    HAVING count(*) > 0
    UNION ALL
    SELECT 3, 'SET LOCAL statement_timeout = 0'
) AS steps
 ORDER BY step
