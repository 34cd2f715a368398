-- Gives a server of tickets another name than it had.
UPDATE shardid.ticket_server SET node = ? WHERE node = ?
