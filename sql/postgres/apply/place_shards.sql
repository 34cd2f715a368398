-- Gives this node its copy of the map: for each shard of $6 the node in $7.
SELECT shardid.place_shards($1, $2, $3, $4, $5, $6, $7) AS changed
