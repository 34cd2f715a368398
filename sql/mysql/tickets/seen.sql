-- How far a server is now, beside how far it was at the look before.
UPDATE shardid.ticket_server
SET last_number = ?, last_us = ?, before_number = ?, before_us = ?
WHERE ticket = ? AND node = ?
