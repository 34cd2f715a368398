-- Keeps everybody from the tables of a schema ($1), before it is looked what would go with it.
SELECT format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', string_agg(format('ONLY %I.%I', n.nspname, c.relname), ', ' ORDER BY c.oid)) AS statement
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
HAVING count(*) > 0
