-- A ticket above a floor; as often as one likes.
CALL shardid.create_ticket_above(?, ?, ?, ?)
