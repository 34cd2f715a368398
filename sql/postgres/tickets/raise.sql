-- All further numbers are above this one.
SELECT shardid.raise_ticket($1, $2)
