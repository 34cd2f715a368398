-- Notes what the target of a move ($1) is, now that it has all rows: server ($2), timeline ($3), database ($4)
-- and position ($5); and by what the source's sequences are bound ($6).
UPDATE shardid.move
   SET whole_system_identifier = $2, whole_timeline = $3, whole_database = $4, whole_position = $5, rules = $6,
       open_begun_at = NULL
 WHERE move = $1
