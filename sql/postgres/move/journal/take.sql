-- Gives a move ($1) to the program with a term ($2). No row where another has a higher one.
UPDATE shardid.move SET term = $2 WHERE move = $1 AND term < $2 RETURNING move
