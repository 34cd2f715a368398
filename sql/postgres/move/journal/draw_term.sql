-- A term above all that were drawn, and above $1, which a node knows.
UPDATE shardid.catalog SET move_term = greatest(move_term, $1) + 1 RETURNING move_term
