-- What the journal knows that moves have made and not yet removed. A copy ('schema') that is
-- left has its guard with it, and a role goes with the subscription that it was made for.
SELECT node, CASE kind WHEN 'schema' THEN 'fence' ELSE kind END AS kind, name
  FROM shardid.leftover
 WHERE removed_at IS NULL
UNION
SELECT node, 'role', name
  FROM shardid.leftover
 WHERE removed_at IS NULL AND kind = 'subscription'
