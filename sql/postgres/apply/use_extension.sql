-- Puts the schema that the user functions live in on this session's path:
-- CREATE EXTENSION chose it, and nobody else's functions are to be called.
SELECT set_config('search_path', quote_ident(n.nspname) || ', pg_temp', false) AS search_path
  FROM pg_extension e
  JOIN pg_namespace n ON n.oid = e.extnamespace
 WHERE e.extname = 'shardid'
