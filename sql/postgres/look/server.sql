-- What a node is, and which of our things are there to be looked at. A table of our name that no superuser owns is not
-- ours: a superuser reads none of that.
WITH ours AS (
    SELECT c.relname AS name
      FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner
     WHERE c.relnamespace = to_regnamespace('shardid') AND c.relkind = 'r'
       AND (o.rolsuper OR NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user))
)
SELECT current_setting('server_version')             AS server_version,
       current_database()::text                      AS database,
       (SELECT system_identifier FROM pg_control_system()) AS system_identifier,
       pg_is_in_recovery()                           AS standby,
       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
       (SELECT default_version FROM pg_available_extensions WHERE name = 'shardid') AS available,
       (SELECT extversion FROM pg_extension WHERE extname = 'shardid') AS installed,
       EXISTS (SELECT FROM ours WHERE name = 'shard') AS has_shards,
       EXISTS (SELECT FROM ours WHERE name = 'catalog_history') AS has_history,
       EXISTS (SELECT FROM ours WHERE name = 'leftover') AS has_catalog
