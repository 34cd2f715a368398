-- A ticket above a floor; as often as one likes.
SELECT shardid.create_ticket_above($1, $2, $3, $4)
