-- The last number of a ticket; the floor where there was none yet.
SELECT CAST(last_ticket AS SIGNED) FROM shardid.ticket WHERE name = ?
