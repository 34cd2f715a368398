-- The mark is there.
UPDATE shardid.ticket_node SET identity = $1, mark = next_mark, next_mark = NULL
WHERE node = $2 AND next_mark IS NOT NULL
