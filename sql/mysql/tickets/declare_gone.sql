-- Which servers a change is to have, and which are gone for good, with a floor above what those can have
-- handed out, for the program with the term.
UPDATE shardid.ticket_change SET nodes_after = ?, nodes_gone = ?, `floor` = greatest(`floor`, ?)
 WHERE `change` = ? AND state = ? AND term = ?
