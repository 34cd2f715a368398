-- The version of the map that placed a shard where it is.
SELECT map_version FROM shardid.map WHERE shard = $1
