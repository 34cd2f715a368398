-- Takes the fence down from a schema ($2) and opens the shard ($1). What guards the old
-- copy of a shard that lives elsewhere is no fence.
SELECT statement FROM (
    SELECT 1 AS step, c.oid,
           format('DROP TRIGGER shardid_fence ON %I.%I', n.nspname, c.relname) AS statement
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgname = 'shardid_fence' AND t.tgparentid = 0
     WHERE n.nspname = $2
       AND NOT EXISTS (SELECT FROM shardid.shard WHERE shard = $1 AND state = 'moved')
    UNION ALL
    SELECT 2, 0, format('UPDATE shardid.shard SET state = ''open'' WHERE shard = %s AND state = ''fenced''', $1::integer)
) AS steps
 ORDER BY step, oid
