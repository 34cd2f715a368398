-- Tables of a schema ($1) that have anything in them, and a statement that empties each.
SELECT format('%I.%I', n.nspname, c.relname) AS name, format('TRUNCATE ONLY %I.%I', n.nspname, c.relname) AS statement
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind = 'r' AND pg_relation_size(c.oid) > 0
 ORDER BY c.oid
