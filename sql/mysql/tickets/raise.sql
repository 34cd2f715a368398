-- All further numbers are above this one.
CALL shardid.raise_ticket(?, ?)
