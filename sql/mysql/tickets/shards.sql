-- The shards that this server makes ids for.
SELECT CAST(shard AS SIGNED) FROM shardid.shard WHERE state = 'open' ORDER BY shard
