-- Whether the catalog has a node of that name ($1).
SELECT EXISTS (SELECT FROM shardid.node WHERE node = $1)
