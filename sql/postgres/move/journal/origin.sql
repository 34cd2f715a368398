-- Notes what the source of a move ($1) is, from which the copy is about to begin: server ($2), timeline ($3) and
-- database ($4).
UPDATE shardid.move SET origin_system_identifier = $2, origin_timeline = $3, origin_database = $4 WHERE move = $1
