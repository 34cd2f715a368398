-- What a node is, and which of our things are there to be looked at.
SELECT current_setting('server_version')             AS server_version,
       current_database()::text                      AS database,
       (SELECT system_identifier FROM pg_control_system()) AS system_identifier,
       pg_is_in_recovery()                           AS standby,
       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
       (SELECT default_version FROM pg_available_extensions WHERE name = 'shardid') AS available,
       (SELECT extversion FROM pg_extension WHERE extname = 'shardid') AS installed,
       to_regclass('shardid.shard') IS NOT NULL      AS has_shards,
       to_regclass('shardid.catalog_history') IS NOT NULL AS has_history,
       to_regclass('shardid.leftover') IS NOT NULL   AS has_catalog
