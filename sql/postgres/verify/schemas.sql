-- The schemas of the shards that live here.
SELECT s.shard, n.nspname::text AS schema
  FROM shardid.shard s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE s.state IN ('open', 'fenced')
