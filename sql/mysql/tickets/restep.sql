-- Another class, above the floor.
CALL shardid.restep_ticket(?, ?, ?, ?)
