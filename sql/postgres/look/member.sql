-- The cluster that this node belongs to.
SELECT name, node, map_version FROM shardid.cluster
