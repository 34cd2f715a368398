-- The mark is there. MySQL assigns from left to right.
UPDATE shardid.ticket_node SET identity = ?, mark = next_mark, next_mark = NULL
WHERE node = ? AND next_mark IS NOT NULL
