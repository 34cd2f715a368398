-- Where a node's own copy of the map has a shard.
SELECT CASE WHEN s.state = 'moved' THEN s.node ELSE c.node END AS node, c.map_version
  FROM shardid.cluster c
  LEFT JOIN shardid.shard s ON s.shard = $1
