-- Has this node of a cluster ($1) go by another name ($3) than before ($2).
SELECT shardid.rename_node($1, $2, $3) AS changed
