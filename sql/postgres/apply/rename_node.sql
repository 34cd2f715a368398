-- Gives a node ($1) another name ($2), if it is the database of $3 and $4 and no unfinished move
-- works on it: in the map, in the journal of moves and for tickets.
WITH renamed AS (
    UPDATE shardid.node AS n SET node = $2
     WHERE n.node = $1 AND n.system_identifier = $3 AND n.database = $4
       AND NOT EXISTS (SELECT FROM shardid.move m
                        WHERE n.node IN (m.source, m.target) AND m.state NOT IN ('done', 'aborted'))
       AND NOT EXISTS (SELECT FROM shardid.ticket_change c
                        WHERE n.node = ANY (string_to_array(concat_ws(',', c.nodes_before, c.nodes_after, c.nodes_gone), ','))
                          AND c.state <> 'done')
    RETURNING n.number
), source AS (
    UPDATE shardid.move AS m SET source = $2 FROM renamed r WHERE m.source_number = r.number
), target AS (
    UPDATE shardid.move AS m SET target = $2 FROM renamed r WHERE m.target_number = r.number
), leftover AS (
    UPDATE shardid.leftover AS l SET node = $2
      FROM renamed r, shardid.move m
     WHERE l.node = $1 AND m.move = l.move AND r.number IN (m.source_number, m.target_number)
), ticket_node AS (
    UPDATE shardid.ticket_node SET node = $2 FROM renamed WHERE node = $1
), ticket_server AS (
    UPDATE shardid.ticket_server SET node = $2 FROM renamed WHERE node = $1
)
SELECT number FROM renamed
