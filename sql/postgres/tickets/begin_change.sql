-- A change of servers, before anything is done about it. No row where the ticket has other
-- servers by now than it was planned for ($7).
INSERT INTO shardid.ticket_change (ticket, nodes_before, nodes_after, nodes_gone, floor, state, planned_by)
SELECT $1, $2, $3, $4, $5, 'planned', $6
 WHERE (SELECT coalesce(string_agg(node, ',' ORDER BY server), '') FROM shardid.ticket_server WHERE ticket = $1) = $7
