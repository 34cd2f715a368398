-- Takes the fence down from a schema ($2) and opens the shard ($1). What guards the old
-- copy of a shard that lives elsewhere is no fence. Triggers are switched off: to drop one would wait
-- for everybody who reads the table, and writers for that.
SELECT statement FROM (
    SELECT 1 AS step, c.oid,
           format('ALTER TABLE ONLY %I.%I DISABLE TRIGGER shardid_fence', n.nspname, c.relname) AS statement
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgname = 'shardid_fence' AND t.tgenabled <> 'D'
     WHERE n.nspname = $2
       AND NOT EXISTS (SELECT FROM shardid.shard WHERE shard = $1 AND state = 'moved')
    UNION ALL
    SELECT 2, 0, format('UPDATE shardid.shard SET state = ''open'' WHERE shard = %s AND state = ''fenced''', $1::integer)
) AS steps
 ORDER BY step, oid
