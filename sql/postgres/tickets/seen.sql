-- How far a server is now, beside how far it was at the look before.
UPDATE shardid.ticket_server
SET last_number = $1, last_us = $2, before_number = $3, before_us = $4
WHERE ticket = $5 AND node = $6
