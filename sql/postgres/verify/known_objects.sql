-- What the journal knows that moves have made and not yet removed. A copy ('schema') that is
-- left has its guard with it, and a role goes with the subscription that it was made for.
SELECT node, CASE kind WHEN 'schema' THEN 'fence' ELSE kind END AS kind, name
  FROM shardid.leftover
 WHERE removed_at IS NULL
UNION
SELECT node, 'role', name
  FROM shardid.leftover
 WHERE removed_at IS NULL AND kind = 'subscription'
UNION
-- On both nodes of a move, while it stands.
SELECT n.node, 'event trigger', s.stream || k.kept
  FROM shardid.move m
 CROSS JOIN LATERAL (VALUES (m.source), (m.target)) AS n(node)
 CROSS JOIN LATERAL (VALUES (format('shardid_move_%s', m.move)), (format('shardid_back_%s', coalesce(m.rollback_of, m.move)))) AS s(stream)
 CROSS JOIN (VALUES (''), ('_name')) AS k(kept)
 WHERE m.state NOT IN ('done', 'aborted')
