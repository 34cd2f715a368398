-- Shards whose last id is ahead of this server's clock, the furthest first.
SELECT shard, ceil(extract(epoch FROM drift) * 1000)::bigint AS drift_ms
  FROM shardid.shards
 WHERE drift > interval '0' AND state IN ('open', 'fenced')
 ORDER BY drift DESC, shard
