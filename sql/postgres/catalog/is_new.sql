-- Whether there is no catalog yet.
SELECT pg_catalog.to_regclass('shardid.catalog') IS NULL AS is_new
