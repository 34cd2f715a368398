-- The map, a row per node.
SELECT node, array_agg(shard ORDER BY shard) AS shards FROM shardid.map GROUP BY node ORDER BY node
