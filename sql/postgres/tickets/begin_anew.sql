-- A change from all servers that hand the ticket out now ($1), with a floor ($2) above all of them, in place of what
-- an older journal says of it; for the program with the term.
UPDATE shardid.ticket_change SET nodes_before = $1, floor = greatest(floor, $2), state = 'planned', since = now()
 WHERE change = $3 AND state = $4 AND term = $5
