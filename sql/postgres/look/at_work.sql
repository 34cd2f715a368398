-- The nodes that unfinished moves work on, with the numbers of those.
SELECT node, array_agg(DISTINCT move ORDER BY move) AS moves
  FROM (SELECT move, unnest(ARRAY[source, target]) AS node
          FROM shardid.move WHERE state NOT IN ('done', 'aborted')) AS at_work
 GROUP BY node
