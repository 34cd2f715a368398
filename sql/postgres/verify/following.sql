-- The moves whose old copy follows: number, shard, the node with the copy, and the one with the
-- shard, and which server and timeline that was. One that is being gone back to is not looked at.
SELECT m.move, m.shard, m.source, m.target,
       (to_jsonb(m) ->> 'seal_system_identifier')::bigint AS seal_system_identifier,
       (to_jsonb(m) ->> 'seal_timeline')::bigint AS seal_timeline
  FROM shardid.move m
 WHERE m.kind = 'copy' AND m.state = 'done' AND m.way_back AND m.retired_at IS NULL AND m.retire_begun_at IS NULL
   AND NOT EXISTS (SELECT FROM shardid.move u WHERE u.shard = m.shard AND u.state NOT IN ('done', 'aborted'))
 ORDER BY m.move
