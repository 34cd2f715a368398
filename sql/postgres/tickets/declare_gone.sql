-- Which servers a change is to have ($1), and which are gone for good ($2), with a floor ($3) above what those can
-- have handed out, for the program with the term.
UPDATE shardid.ticket_change SET nodes_after = $1, nodes_gone = $2, floor = greatest(floor, $3)
 WHERE change = $4 AND state = $5 AND term = $6
