-- Has the catalog know a server by another name than before.
UPDATE shardid.ticket_node SET node = ? WHERE node = ?
