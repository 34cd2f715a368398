-- What takes the triggers of a fence away around a shard ($1) that is open, in a schema ($2), a row for each table that has
-- any: what drops them, which waits for readers, too, and, where one is on, what switches them off, which waits for
-- writers, VACUUM and its like alone. They let everybody write, and each who writes pays for them. What guards an
-- old copy stays, and so does a fence: each looks, by the transaction that changes the table, whether the shard is open,
-- has its row stay as it is until that ends, and asks behind the table's lock which triggers are the fence's.
-- A table may be dropped meanwhile, or be given another name.
WITH fenced AS (
    SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name, bool_or(t.tgenabled <> 'D') AS is_on
      FROM pg_trigger t
      JOIN pg_class c ON c.oid = t.tgrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $2 AND t.tgfoid = to_regprocedure('shardid.refuse_write()')
       AND EXISTS (SELECT FROM shardid.shard WHERE shard = $1 AND state = 'open')
     GROUP BY c.oid, n.nspname, c.relname
), way AS (
    SELECT oid, name, true AS drops, 'ACCESS EXCLUSIVE' AS mode, 'DROP TRIGGER' AS verb, ' ON ' || name AS place FROM fenced
    UNION ALL
    SELECT oid, name, false, 'SHARE ROW EXCLUSIVE', format('ALTER TABLE ONLY %s DISABLE TRIGGER', name), '' FROM fenced WHERE is_on
), block AS (
    SELECT oid, drops, format($body$
DECLARE
    command text;
BEGIN
    PERFORM FROM shardid.shard WHERE shard = %1$s AND state = 'open' FOR SHARE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    LOCK TABLE ONLY %2$s IN %3$s MODE;
    SELECT string_agg(format('%%s %%I%%s', %5$L::text, t.tgname, %6$L::text), '; ' ORDER BY t.tgname) INTO command
      FROM pg_trigger t
     WHERE t.tgrelid = %4$s AND t.tgfoid = to_regprocedure('shardid.refuse_write()');
    IF command IS NOT NULL THEN
        EXECUTE command;
    END IF;
EXCEPTION WHEN undefined_table THEN
    NULL;
END
$body$, $1::integer, name, mode, oid, verb, place) AS text
      FROM way
)
SELECT max(format('DO %L', text)) FILTER (WHERE drops) AS remove, max(format('DO %L', text)) FILTER (WHERE NOT drops) AS switch_off
  FROM block
 GROUP BY oid
 ORDER BY oid
