-- Of which cluster this database has a copy of the map, and as which node.
SELECT name, node, layout, shards::bigint AS shards, map_version FROM shardid.cluster
