-- Notes that the old copy is gone.
UPDATE shardid.move SET retired_at = coalesce(retired_at, now()) WHERE move = $1
