-- The migrations that were run here.
SELECT version, name, checksum FROM shardid.catalog_history ORDER BY version
