-- A change of servers, before anything is done about it.
INSERT INTO shardid.ticket_change (ticket, nodes_before, nodes_after, nodes_gone, floor, state, planned_by)
VALUES ($1, $2, $3, $4, $5, 'planned', $6)
