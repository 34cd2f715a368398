-- A change from all servers that hand the ticket out now, with a floor above all of them, in place of what an older
-- journal says of it; for the program with the term.
UPDATE shardid.ticket_change SET nodes_before = ?, `floor` = greatest(`floor`, ?), state = 'planned', since = utc_timestamp(6)
 WHERE `change` = ? AND state = ? AND term = ?
