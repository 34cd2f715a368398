-- Which version of the map a node has a copy of.
SELECT map_version FROM shardid.cluster
