-- Writes a move down: shard, source, target, kind, the move it takes back,
-- schema, whether the old copy is to follow, by whom. No row where the map has the shard
-- somewhere else, the target goes by another name, or the old copy that it goes back to is not
-- there any more.
WITH planned AS (
    INSERT INTO shardid.move (shard, source, target, kind, rollback_of, schema, way_back, planned_by,
                              source_number, target_number, whole_timeline)
    -- The last is what will be noted: where there is no such column, that is told now.
    SELECT $1, $2, $3, $4, $5::bigint, $6, $7, $8, source.number, target.number, NULL::bigint
      FROM shardid.node source, shardid.node target
     WHERE source.node = $2 AND target.node = $3
       AND EXISTS (SELECT FROM shardid.map WHERE shard = $1 AND node = $2 FOR SHARE)
       AND ($5::bigint IS NULL
            OR EXISTS (SELECT FROM shardid.move
                        WHERE move = $5::bigint AND state = 'done' AND retire_begun_at IS NULL AND retired_at IS NULL
                          FOR SHARE))
       FOR KEY SHARE OF source, target
    RETURNING move, state
), logged AS (
    INSERT INTO shardid.move_log (move, state) SELECT move, state FROM planned
)
SELECT move FROM planned
