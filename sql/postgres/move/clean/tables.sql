-- The tables of a schema ($1), and whether each may be missing elsewhere: a partition goes when its time is over, and what
-- has no guard was made in an old copy since.
SELECT c.relname::text AS name,
       c.relispartition OR NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgfoid = to_regprocedure('shardid.refuse_write()')) AS may_miss
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
 ORDER BY 1
