-- Tables of a schema ($1) that have anything in them, and a statement that empties each. The size of a table waits for who
-- has locked it: it is asked of no other one.
WITH own AS MATERIALIZED (
    SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relkind = 'r'
)
SELECT name, format('TRUNCATE ONLY %s', name) AS statement
  FROM own
 WHERE pg_relation_size(oid) > 0
 ORDER BY oid
