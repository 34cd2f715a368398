-- Keeps everybody out of the sequences of a schema ($1), also whoever calls a
-- plain nextval, until the transaction ends, having waited for transactions
-- that have called it for at most $2 milliseconds. LOCK takes no sequences;
-- ALTER SEQUENCE locks them, and has sessions forget the numbers they keep in
-- their caches.
WITH member AS (
    SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name, q.seqcache
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_sequence q ON q.seqrelid = c.oid
     WHERE n.nspname = $1
)
SELECT statement FROM (
    SELECT 1 AS step, 0::oid AS oid,
           format('SET LOCAL lock_timeout = %s', greatest(10, $2::bigint / (SELECT count(*) FROM member))) AS statement
      FROM member HAVING count(*) > 0
    UNION ALL
    SELECT 2, oid, format('ALTER SEQUENCE %s CACHE %s', name, seqcache) FROM member
) AS steps
 ORDER BY step, oid
