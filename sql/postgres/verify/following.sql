-- The moves with an old copy: number, shard and its schema, the node with the copy, and the one with the shard; whether the
-- copy follows, and which server and timeline that was; what the node with the shard was when all rows had
-- come to it; whether the old node was found open since; and whether a move of the shard is unfinished. One
-- that the shard is back on, by the map, is not looked at.
SELECT m.move, m.shard, m.schema, m.source, m.target, m.way_back,
       to_jsonb(m) ->> 'reopened_at' IS NOT NULL AS reopened,
       EXISTS (SELECT FROM shardid.move u WHERE u.shard = m.shard AND u.state NOT IN ('done', 'aborted')) AS unfinished,
       (to_jsonb(m) ->> 'seal_system_identifier')::bigint AS seal_system_identifier,
       (to_jsonb(m) ->> 'seal_timeline')::bigint AS seal_timeline,
       (to_jsonb(m) ->> 'whole_system_identifier')::bigint AS whole_system_identifier,
       (to_jsonb(m) ->> 'whole_timeline')::bigint AS whole_timeline,
       (to_jsonb(m) ->> 'whole_database')::bigint AS whole_database,
       (to_jsonb(m) ->> 'whole_position')::bigint AS whole_position
  FROM shardid.move m
 WHERE m.kind = 'copy' AND m.state = 'done' AND m.retired_at IS NULL AND m.retire_begun_at IS NULL
   AND NOT EXISTS (SELECT FROM shardid.move u WHERE u.rollback_of = m.move AND u.state = 'switched')
 ORDER BY m.move
