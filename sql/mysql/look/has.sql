-- Which histories are there.
SELECT coalesce(max(table_name = 'schema_history'), 0) = 1 AS has_schema,
       coalesce(max(table_name = 'catalog_history'), 0) = 1 AS has_catalog
FROM information_schema.tables WHERE table_schema = 'shardid'
