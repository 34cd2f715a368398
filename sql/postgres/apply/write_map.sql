-- Puts shards ($2) on a node ($1) in a version ($3) of the map.
INSERT INTO shardid.map (shard, node, map_version)
SELECT shard, $1, $3 FROM unnest($2::integer[]) AS shard
