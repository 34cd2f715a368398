-- The map's next version, if the cluster still has one.
UPDATE shardid.catalog SET map_version = map_version + 1 WHERE cluster IS NOT NULL RETURNING map_version
