-- Shards that should be open here, and whose sequence is gone.
SELECT shard FROM shardid.shard s
 WHERE state IN ('open', 'fenced')
   AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = s.sequence AND c.relkind = 'S')
 ORDER BY shard
