-- The copy on the target ($3, schema $4) is what a move ($1), or the one that it takes back, has left, and so is the
-- fence on the source ($2).
UPDATE shardid.leftover AS l SET removed_at = NULL
  FROM shardid.move AS m
 WHERE m.move = $1
   AND (l.move = coalesce(m.rollback_of, m.move) AND l.node = $3 AND l.kind = 'schema' AND l.name = $4
     OR l.move = m.move AND l.node = $2 AND l.kind = 'fence' AND l.name = $4)
