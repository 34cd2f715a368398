-- The tables of a schema that hold rows, with how many the server believes there are.
SELECT format('%I.%I', n.nspname, c.relname) AS name, greatest(c.reltuples, 0)::bigint AS rows
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind = 'r'
 ORDER BY 1
