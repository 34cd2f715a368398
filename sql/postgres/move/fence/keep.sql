-- Has nobody switch off, drop or replace a trigger on a table of a schema ($1) until the transaction ends: that waits for
-- this lock, which keeps out no reader, and no VACUUM. Writers wait for none.
SELECT format('LOCK TABLE %s IN ROW EXCLUSIVE MODE', string_agg(format('ONLY %I.%I', n.nspname, c.relname), ', ' ORDER BY c.oid)) AS statement
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
HAVING count(*) > 0
