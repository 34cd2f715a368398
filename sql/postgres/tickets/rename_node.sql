-- Has the catalog know a server by another name ($1) than before ($2).
UPDATE shardid.ticket_node SET node = $1 WHERE node = $2
