-- Notes that the source of a switched move ($1) was found open: what was written there since is there alone.
UPDATE shardid.move SET reopened_at = coalesce(reopened_at, clock_timestamp()) WHERE move = $1
