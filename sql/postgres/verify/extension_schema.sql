-- The schema that the extension was installed into.
SELECT extnamespace::pg_catalog.regnamespace::text FROM pg_catalog.pg_extension WHERE extname = 'shardid'
