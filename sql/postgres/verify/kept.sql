-- The old copies that are kept: shard, node and schema. Not one that is being gone back to or dropped.
SELECT m.shard, m.source AS node, m.schema
  FROM shardid.move m
 WHERE m.kind = 'copy' AND m.state = 'done' AND m.retired_at IS NULL AND m.retire_begun_at IS NULL
   AND NOT EXISTS (SELECT FROM shardid.move u WHERE u.shard = m.shard AND u.state NOT IN ('done', 'aborted'))
 ORDER BY m.move
