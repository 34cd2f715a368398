-- Notes from where on the old copy of a move ($1) is to follow the new one: a position ($2), the server
-- that it is of ($3), and the timeline ($4).
UPDATE shardid.move SET seal = $2, seal_system_identifier = $3, seal_timeline = $4 WHERE move = $1
