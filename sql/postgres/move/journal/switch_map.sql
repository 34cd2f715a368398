-- Places a shard ($1) from a node ($2) on another ($3) in a version ($4).
UPDATE shardid.map SET node = $3, map_version = $4 WHERE shard = $1 AND node = $2
