-- All moves, the latest last; of those that are over only the last $1.
SELECT move, shard, source, target, kind, rollback_of, schema, way_back, state, shape, seal,
       (extract(epoch FROM planned_at) * 1000000)::bigint  AS planned_us,
       (extract(epoch FROM state_since) * 1000000)::bigint AS since_us,
       (extract(epoch FROM retired_at) * 1000000)::bigint  AS retired_us,
       retire_begun_at IS NOT NULL AS retiring,
       planned_by
  FROM (SELECT *, row_number() OVER (
            PARTITION BY state IN ('done', 'aborted') ORDER BY move DESC) AS age
          FROM shardid.move) AS m
 WHERE state NOT IN ('done', 'aborted') OR age <= $1
 ORDER BY move
