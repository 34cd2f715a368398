-- The fence around a schema ($2) of a shard ($1): locks that let readers in and
-- keep writers out, and triggers that refuse whoever queued behind the locks.
-- A lock alone is no fence: the queued writer would write to the old copy.
WITH member AS (
    SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name, c.relispartition
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $2 AND c.relkind IN ('r', 'p')
)
SELECT statement FROM (
    SELECT 1 AS step, oid, format('LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE', name) AS statement
      FROM member
    UNION ALL
    SELECT 2, oid, format(
               'CREATE OR REPLACE TRIGGER shardid_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION shardid.refuse_write(%L)',
               name, $1::integer)
      FROM member
    UNION ALL
    SELECT 3, oid, format('ALTER TABLE %s ENABLE ALWAYS TRIGGER shardid_fence', name) FROM member
    UNION ALL
    SELECT 4, 0, format('UPDATE shardid.shard SET state = ''fenced'' WHERE shard = %s AND state = ''open''', $1::integer)
) AS steps
 ORDER BY step, oid
