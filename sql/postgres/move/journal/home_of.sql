-- The node that the map has a shard ($1) on.
SELECT node FROM shardid.map WHERE shard = $1
