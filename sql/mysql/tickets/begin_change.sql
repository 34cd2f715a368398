-- A change of servers, before anything is done about it. No row where the ticket has other
-- servers by now than it was planned for, the last value.
INSERT INTO shardid.ticket_change
    (ticket, nodes_before, nodes_after, nodes_gone, `floor`, state, planned_by, planned_at, since)
SELECT n.ticket, n.nodes_before, n.nodes_after, n.nodes_gone, n.`floor`, 'planned', n.planned_by, utc_timestamp(6), utc_timestamp(6)
  FROM (SELECT CAST(? AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS ticket, ? AS nodes_before, ? AS nodes_after,
               ? AS nodes_gone, ? AS `floor`, ? AS planned_by,
               CAST(? AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AS known) AS n
 WHERE (SELECT count(*) FROM shardid.ticket_server s WHERE s.ticket = n.ticket)
     = CASE n.known WHEN '' THEN 0 ELSE 1 + char_length(n.known) - char_length(replace(n.known, ',', '')) END
   AND NOT EXISTS (SELECT 1 FROM shardid.ticket_server s
                    WHERE s.ticket = n.ticket AND find_in_set(s.node, n.known) <> s.server)
