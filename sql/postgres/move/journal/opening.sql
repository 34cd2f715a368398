-- Notes that the target of a move ($1) is about to be opened: from then on somebody may have written there.
UPDATE shardid.move SET open_begun_at = coalesce(open_begun_at, clock_timestamp()) WHERE move = $1
