-- Writes a move down: shard, source, target, kind, the move it takes back,
-- schema, whether the old copy is to follow, by whom.
WITH planned AS (
    INSERT INTO shardid.move (shard, source, target, kind, rollback_of, schema, way_back, planned_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    RETURNING move, state
), logged AS (
    INSERT INTO shardid.move_log (move, state) SELECT move, state FROM planned
)
SELECT move FROM planned
