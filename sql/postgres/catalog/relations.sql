-- What there is in schema shardid before the catalog's tables are made, or more of them.
SELECT coalesce(array_agg(c.oid), '{}') FROM pg_class c WHERE c.relnamespace = to_regnamespace('shardid')
