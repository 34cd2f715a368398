-- Notes what the target of a move ($1) is, now that it has all rows: server ($2), timeline ($3), database ($4)
-- and position ($5); and the statements that give the source's sequences their bounds ($6).
UPDATE shardid.move
   SET whole_system_identifier = $2, whole_timeline = $3, whole_database = $4, whole_position = $5, rules = $6,
       open_begun_at = NULL
 WHERE move = $1
