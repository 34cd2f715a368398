-- Of which cluster this database has a copy of the map, as which node, and the newest version that
-- it knows: a shard that was opened or closed here may know one that its map does not have yet.
SELECT name, node, layout, shards::bigint AS shards,
       greatest(map_version, (SELECT max(s.map_version) FROM shardid.shard s WHERE s.cluster = c.name)) AS map_version
  FROM shardid.cluster c
