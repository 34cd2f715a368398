-- What of the catalog was made here.
SELECT version, name, checksum FROM shardid.catalog_history ORDER BY version
