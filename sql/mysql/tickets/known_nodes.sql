-- The servers that the catalogue knows.
SELECT node, identity, mark, next_mark FROM shardid.ticket_node ORDER BY node
