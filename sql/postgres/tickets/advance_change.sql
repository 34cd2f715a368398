-- What the state before ($3) asked for is done everywhere. No row is changed where the change
-- is in another one, or another program than that of term $4 works on it.
UPDATE shardid.ticket_change SET state = $1, since = now() WHERE change = $2 AND state = $3 AND term = $4
