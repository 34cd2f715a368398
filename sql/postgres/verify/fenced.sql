-- The shards that are fenced here, by their rows or by the triggers on their tables.
SELECT shard FROM shardid.shard WHERE state = 'fenced'
UNION
SELECT s.shard
  FROM shardid.shard s
  JOIN pg_class q ON q.oid = s.sequence
  JOIN pg_class c ON c.relnamespace = q.relnamespace
  JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgname = 'shardid_fence' AND t.tgenabled <> 'D'
 WHERE s.state = 'open'
