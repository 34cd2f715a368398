-- Which version of the map a node has a copy of, and the shards that it holds.
SELECT (SELECT map_version FROM shardid.cluster) AS map_version,
       ARRAY(SELECT shard FROM shardid.shard WHERE state IN ('open', 'fenced') ORDER BY shard) AS held
