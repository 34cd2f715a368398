-- A transaction to try something in, for at most $1 milliseconds, of which the
-- server's log says nothing: what is tried may hold a password. The session may
-- be one that only looks.
SELECT statement FROM (VALUES
    (1, 'BEGIN READ WRITE'),
    (2, format('SET LOCAL statement_timeout = %s', $1::bigint)),
    (3, 'SET LOCAL client_min_messages = error'),
    (4, 'SET LOCAL log_min_messages = panic'),
    (5, 'SET LOCAL log_min_error_statement = panic')) AS steps(step, statement)
 ORDER BY step
