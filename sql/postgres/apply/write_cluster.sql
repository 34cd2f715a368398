-- Makes the cluster and its first version of the map. No row comes back where
-- somebody else was quicker.
UPDATE shardid.catalog
   SET cluster = $1, layout = $2, shards = $3, map_version = $4
 WHERE cluster IS NULL AND map_version = $4 - 1
RETURNING map_version
