-- A term above all that were drawn, and above $1, which a node knows. No row where that one
-- was drawn here, and so by another program.
UPDATE shardid.catalog SET move_term = greatest(move_term, $1) + 1
 WHERE $1 = 0 OR move_term < $1
RETURNING move_term
