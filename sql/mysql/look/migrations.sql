-- What was installed here.
SELECT version, name, checksum FROM shardid.schema_history ORDER BY version
