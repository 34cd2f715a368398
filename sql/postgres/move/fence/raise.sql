-- The fence around a schema ($2) of a shard ($1): locks that let readers in and
-- keep writers out, and triggers that refuse whoever queued behind the locks.
-- A lock alone is no fence: the queued writer would write to the old copy.
-- All locks are one statement, so that one time limit holds for all of them.
-- A trigger of the fence's name that is somebody else's is in the way, and not replaced.
-- The shard's row comes last; its triggers wait for those who took ids from the
-- shard's sequences and have not committed.
WITH member AS (
    SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name, c.relkind = 'r' AS has_rows,
           ARRAY(SELECT t.tgname::text FROM pg_trigger t
                  WHERE t.tgrelid = c.oid AND t.tgfoid = to_regprocedure('shardid.refuse_write()')) AS there
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $2 AND c.relkind IN ('r', 'p')
)
SELECT statement FROM (
    SELECT 1 AS step, 0::oid AS oid,
           format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', string_agg('ONLY ' || name, ', ' ORDER BY oid)) AS statement
      FROM member
    HAVING count(*) > 0
    UNION ALL
    SELECT 2, 0, format('UPDATE shardid.shard SET state = ''fenced'' WHERE shard = %s AND state = ''open''', $1::integer)
    UNION ALL
    SELECT 3, oid, format(
               'CREATE TRIGGER shardid_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT EXECUTE FUNCTION shardid.refuse_write(%L)',
               name, $1::integer)
      FROM member WHERE 'shardid_fence' <> ALL (there)
    UNION ALL
    -- What replicates, or loads rows as a replica, fires those of rows alone.
    SELECT 4, oid, format(
               'CREATE TRIGGER shardid_fence_rows BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW WHEN (NOT shardid.is_follower(%L::regclass)) EXECUTE FUNCTION shardid.refuse_write(%L)',
               name, name, $1::integer)
      FROM member WHERE has_rows AND 'shardid_fence_rows' <> ALL (there)
    UNION ALL
    SELECT 5, oid, format('ALTER TABLE ONLY %s ENABLE ALWAYS TRIGGER shardid_fence', name)
                   || CASE WHEN has_rows THEN ', ENABLE ALWAYS TRIGGER shardid_fence_rows' ELSE '' END
      FROM member
) AS steps
 ORDER BY step, oid
