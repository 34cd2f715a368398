-- Tables of an old copy ($1, its schema) that the shard did not have when it left: none of those has
-- no guard. Whoever made one may have written to it.
SELECT pg_describe_object('pg_class'::regclass, c.oid, 0) AS name
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'f', 'm')
   AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgfoid = to_regprocedure('shardid.refuse_write()'))
 ORDER BY 1
