-- The tables of a schema ($1), by the names that they have in another one ($2).
SELECT format('%I.%I', $2::text, c.relname)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
