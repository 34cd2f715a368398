-- The sequences of a schema ($1), by number and name.
SELECT c.oid, c.relname::text AS name
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind = 'S'
 ORDER BY 1
