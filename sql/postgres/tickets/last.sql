-- The last number of a ticket; the floor where there was none yet.
SELECT coalesce(last_ticket, floor) FROM shardid.tickets WHERE name = $1
