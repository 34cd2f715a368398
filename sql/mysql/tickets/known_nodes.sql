-- The servers that the catalog knows.
SELECT node, identity, mark, next_mark FROM shardid.ticket_node ORDER BY node
