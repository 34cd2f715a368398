-- The nodes that moves need, with their numbers: of moves that stand, that have an old copy,
-- or that have left something.
SELECT node, array_agg(DISTINCT move ORDER BY move) AS moves
  FROM (SELECT move, unnest(ARRAY[source, target]) AS node
          FROM shardid.move
         WHERE state NOT IN ('done', 'aborted')
            OR (state = 'done' AND kind = 'copy' AND retired_at IS NULL)
         UNION ALL
        SELECT move, node FROM shardid.leftover WHERE removed_at IS NULL) AS needed
 GROUP BY node
