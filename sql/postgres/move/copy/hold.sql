-- A statement that keeps the tables of a schema ($1) as they lie while they are copied by parts: rows that move to other
-- blocks, as by VACUUM FULL, would be in two parts or in none.
SELECT format('LOCK TABLE %s IN ACCESS SHARE MODE', string_agg(format('ONLY %I.%I', n.nspname, c.relname), ', ' ORDER BY c.oid)) AS statement
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind = 'r'
HAVING count(*) > 0
