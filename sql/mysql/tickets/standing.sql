-- How far a change is, which servers it had, is to have, and which are gone, and the term of the last program
-- that began to work on it.
SELECT nodes_before, nodes_after, nodes_gone, state, `floor`, term FROM shardid.ticket_change WHERE `change` = ?
