-- The shards that are fenced here.
SELECT shard FROM shardid.shard WHERE state = 'fenced'
