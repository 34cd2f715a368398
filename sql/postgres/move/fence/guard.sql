-- Makes of a shard ($1) in a schema ($2) an old copy: it says that the shard
-- lives on node $3 since version $4 of the map. Its triggers refuse clients,
-- and let through what follows the new copy.
SELECT statement FROM (
    SELECT 1 AS step, c.oid,
           format('ALTER TABLE %I.%I ENABLE TRIGGER shardid_fence', n.nspname, c.relname) AS statement
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgname = 'shardid_fence'
     WHERE n.nspname = $2
    UNION ALL
    SELECT 2, 0, format(
               'UPDATE shardid.shard SET state = ''moved'', node = %L, map_version = %s WHERE shard = %s AND (state, node) IS DISTINCT FROM (''moved'', %L)',
               $3::text, $4::bigint, $1::integer, $3::text)
) AS steps
 ORDER BY step, oid
