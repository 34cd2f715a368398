-- Notes that the old copy is gone.
UPDATE shardid.move SET retired_at = now() WHERE move = $1 AND retired_at IS NULL
