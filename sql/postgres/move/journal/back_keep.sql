-- The copy on the source ($2, schema $3) of a move ($1) is the shard again, and nobody's leftover.
UPDATE shardid.leftover SET removed_at = now()
 WHERE move = $1 AND node = $2 AND kind = 'schema' AND name = $3 AND removed_at IS NULL
