-- Forgets a node, unless a move needs it; the map's reference refuses one that holds shards.
DELETE FROM shardid.node AS n
 WHERE n.node = $1
   AND NOT EXISTS (SELECT FROM shardid.move m
                    WHERE n.node IN (m.source, m.target)
                      AND (m.state NOT IN ('done', 'aborted')
                           OR (m.state = 'done' AND m.kind = 'copy' AND m.retired_at IS NULL)))
RETURNING n.node
