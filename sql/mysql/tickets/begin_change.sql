-- A change of servers, before anything is done about it.
INSERT INTO shardid.ticket_change
    (ticket, nodes_before, nodes_after, nodes_gone, `floor`, state, planned_by, planned_at, since)
VALUES (?, ?, ?, ?, ?, 'planned', ?, utc_timestamp(6), utc_timestamp(6))
