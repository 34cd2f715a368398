-- Statements by which the tables of a new copy of a schema ($2) refuse each row but those by which the copy follows, until
-- the shard ($1) is there: of all tables, which are made as they are here ($3), or of those here that do not yet.
-- Such a trigger comes after the rows: those that a worker copies are written many at once then.
WITH member AS (
    SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $2 AND c.relkind = 'r'
       AND ($3::boolean OR NOT EXISTS (SELECT FROM pg_trigger t
                        WHERE t.tgrelid = c.oid AND t.tgname = 'shardid_fence_rows' AND t.tgfoid = to_regprocedure('shardid.refuse_write()')))
)
SELECT format(
           'CREATE TRIGGER shardid_fence_rows AFTER INSERT OR UPDATE OR DELETE ON %1$s FOR EACH ROW WHEN (NOT shardid.is_follower(%1$L::regclass)) EXECUTE FUNCTION shardid.refuse_write(%2$L); '
           'ALTER TABLE ONLY %1$s ENABLE ALWAYS TRIGGER shardid_fence_rows',
           name, $1::integer) AS statement
  FROM member
 ORDER BY oid
