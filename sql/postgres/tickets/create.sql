-- A ticket above a floor; as often as one likes.
SELECT shardid.create_ticket_above($1, $2::bigint::integer, $3::bigint::integer, $4)
