-- Changes of servers that are unfinished.
SELECT `change`, ticket, nodes_before, nodes_after, nodes_gone, `floor`, state
FROM shardid.ticket_change WHERE state <> 'done' ORDER BY `change`
