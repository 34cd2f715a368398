-- Makes of a shard ($1) an old copy: it says that the shard lives on node $2 since version $3
-- of the map. Its triggers go on refusing, and let through what it follows the new copy by.
SELECT format(
           'UPDATE shardid.shard SET state = ''moved'', node = %L, map_version = %s WHERE shard = %s AND (state, node) IS DISTINCT FROM (''moved'', %L)',
           $2::text, $3::bigint, $1::integer, $2::text) AS statement
