-- Another class, above the floor.
SELECT shardid.restep_ticket($1, $2::bigint::integer, $3::bigint::integer, $4)
