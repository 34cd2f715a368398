-- The sequences of a schema ($1), as the server describes each.
SELECT pg_describe_object('pg_class'::regclass, c.oid, 0) AS name
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind = 'S'
