-- Another class, above the floor.
SELECT shardid.restep_ticket($1, $2, $3, $4)
