-- Makes this the catalog of a cluster, with a version ($4) above all that there were. Moves
-- and their terms are counted from $5 on, so that no number of a lost catalog comes again.
-- No row comes back where somebody else was quicker.
WITH written AS (
    UPDATE shardid.catalog
       SET cluster = $1, layout = $2, shards = $3, map_version = $4, move_term = greatest(move_term, $5)
     WHERE map_version < $4 AND coalesce(cluster, $1) = $1
    RETURNING map_version
), forgotten AS (
    DELETE FROM shardid.map USING written
)
SELECT map_version, setval(pg_get_serial_sequence('shardid.move', 'move'), greatest(m.last, $5, 1), greatest(m.last, $5) > 0)
  FROM written, (SELECT coalesce(max(move), 0) AS last FROM shardid.move) AS m
