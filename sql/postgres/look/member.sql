-- The cluster that this node belongs to, the version of its map here, and the newest version that it
-- knows of: a shard that was opened or closed here may know one that the map here does not have yet.
SELECT name, node, map_version,
       greatest(map_version, (SELECT max(s.map_version) FROM shardid.shard s WHERE s.cluster = c.name))
  FROM shardid.cluster c
