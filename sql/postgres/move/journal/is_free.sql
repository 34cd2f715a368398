-- Whether a shard ($1) lives on a node ($2) by the map, and no unfinished move is about it.
SELECT EXISTS (SELECT FROM shardid.map WHERE shard = $1 AND node = $2)
   AND NOT EXISTS (SELECT FROM shardid.move WHERE shard = $1 AND state NOT IN ('done', 'aborted')) AS is_free
