-- What a move ($1) has left, the last made first.
SELECT leftover, node, kind, name FROM shardid.leftover
 WHERE move = $1 AND removed_at IS NULL
 ORDER BY leftover DESC
