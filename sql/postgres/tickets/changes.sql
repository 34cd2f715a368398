-- Changes of servers that are standing.
SELECT change, ticket, nodes_before, nodes_after, nodes_gone, floor, state
FROM shardid.ticket_change WHERE state <> 'done' ORDER BY change
