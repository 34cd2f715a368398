-- The ticket is forgotten.
CALL shardid.drop_ticket(?)
