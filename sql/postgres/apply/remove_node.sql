-- Forgets a node; the map's reference refuses it while it holds shards.
DELETE FROM shardid.node WHERE node = $1
