-- Keeps others from locking the tables of a schema ($1), so that the shard can be opened there. Whoever
-- reads them goes on.
SELECT format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', string_agg(format('ONLY %I.%I', n.nspname, c.relname), ', ' ORDER BY c.oid)) AS statement
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
HAVING count(*) > 0
