-- Shards of which this node has an old copy, with its schema.
SELECT s.shard, n.nspname::text
  FROM shardid.shard s JOIN pg_class c ON c.oid = s.sequence JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE s.state = 'moved'
 ORDER BY 1
