-- What the state before asked for is done everywhere.
UPDATE shardid.ticket_change SET state = $1, since = now() WHERE change = $2
