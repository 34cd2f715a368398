-- Triggers by which a new copy of a schema ($2) refuses clients until the shard ($1) is there,
-- and lets through what replicates: somebody's map may be two moves old. They are made by the
-- transaction that makes the tables, as these are at the source.
SELECT format(
           'CREATE TRIGGER shardid_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %I.%I FOR EACH STATEMENT EXECUTE FUNCTION shardid.refuse_write(%L)',
           n.nspname, c.relname, $1::integer) AS statement
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $2 AND c.relkind IN ('r', 'p')
 ORDER BY c.oid
