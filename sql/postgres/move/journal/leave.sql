-- Notes an object that will have to be removed, before it is made.
INSERT INTO shardid.leftover (move, node, kind, name) VALUES ($1, $2, $3, $4)
ON CONFLICT (node, kind, name, move) DO UPDATE SET removed_at = NULL
