-- Triggers by which a new copy of a schema ($2) refuses clients until the shard ($1) is there,
-- and lets through what replicates: somebody's map may be two moves old.
-- They are made by the transaction that makes the tables, as these are at the source.
WITH member AS (
    SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $2 AND c.relkind IN ('r', 'p')
)
SELECT statement FROM (
    SELECT 1 AS step, oid, format(
               'CREATE TRIGGER shardid_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION shardid.refuse_write(%L)',
               name, $1::integer) AS statement
      FROM member
    UNION ALL
    SELECT 2, oid, format('ALTER TABLE ONLY %s ENABLE ALWAYS TRIGGER shardid_fence', name) FROM member
) AS steps
 ORDER BY step, oid
