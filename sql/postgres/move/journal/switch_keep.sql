-- The copy on the target ($3, schema $4) is the shard now, and nobody's
-- leftover; the fence of move $1 on the source ($2) becomes the old copy's guard.
UPDATE shardid.leftover SET removed_at = now()
 WHERE removed_at IS NULL
   AND ((node = $3 AND kind = 'schema' AND name = $4)
     OR (move = $1 AND node = $2 AND kind = 'fence'))
