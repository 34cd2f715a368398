-- The sequences of a schema ($1), by number, and what may have become of each that waits for no fence: its name, owner and rights.
SELECT c.oid, concat_ws(' ', quote_ident(c.relname), c.relowner, c.relacl::text) AS name
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind = 'S'
 ORDER BY 1
