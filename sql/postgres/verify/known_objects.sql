-- What the journal knows that moves have made and not yet removed. A copy
-- ('schema') that is left has its fence with it.
SELECT node, CASE kind WHEN 'schema' THEN 'fence' ELSE kind END AS kind, name
  FROM shardid.leftover
 WHERE removed_at IS NULL
