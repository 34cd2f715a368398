-- Gives a server of tickets another name ($1) than it had ($2).
UPDATE shardid.ticket_server SET node = $1 WHERE node = $2
