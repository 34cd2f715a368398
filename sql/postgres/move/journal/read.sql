-- A move ($1), with when it came into its state.
SELECT move, shard, source, target, kind, rollback_of, schema, way_back, state, shape, seal,
       (extract(epoch FROM planned_at) * 1000000)::bigint  AS planned_us,
       (extract(epoch FROM state_since) * 1000000)::bigint AS since_us,
       (extract(epoch FROM retired_at) * 1000000)::bigint  AS retired_us,
       retire_begun_at IS NOT NULL AS retiring,
       planned_by,
       (to_jsonb(m) ->> 'seal_system_identifier')::bigint AS seal_system_identifier,
       (to_jsonb(m) ->> 'seal_timeline')::bigint AS seal_timeline,
       (to_jsonb(m) ->> 'whole_system_identifier')::bigint AS whole_system_identifier,
       (to_jsonb(m) ->> 'whole_timeline')::bigint AS whole_timeline,
       (to_jsonb(m) ->> 'whole_database')::bigint AS whole_database,
       (to_jsonb(m) ->> 'whole_position')::bigint AS whole_position,
       (to_jsonb(m) ->> 'origin_system_identifier')::bigint AS origin_system_identifier,
       (to_jsonb(m) ->> 'origin_timeline')::bigint AS origin_timeline,
       (to_jsonb(m) ->> 'origin_database')::bigint AS origin_database,
       to_jsonb(m) ->> 'rules' AS rules,
       to_jsonb(m) ->> 'open_begun_at' IS NOT NULL AS opening,
       to_jsonb(m) ->> 'reopened_at' IS NOT NULL AS reopened,
       EXISTS (SELECT FROM shardid.move_log l WHERE l.move = m.move AND l.state = 'switched') AS was_switched
  FROM shardid.move AS m
 WHERE move = $1
