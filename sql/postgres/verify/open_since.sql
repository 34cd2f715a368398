-- The open shards, with the version of the map by which they were opened or placed here; 0 where
-- nobody has.
SELECT shard, coalesce(map_version, 0) FROM shardid.shard WHERE state = 'open'
