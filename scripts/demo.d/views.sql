-- What psql sees first: the rows of all shards of this node.
\set ON_ERROR_STOP on
SELECT format('CREATE VIEW public.%I AS %s', name,
        string_agg(format('SELECT * FROM %I.%I', schema, name), ' UNION ALL ' ORDER BY shard))
FROM shardid.shards, unnest(ARRAY['users', 'photos', 'likes']) AS name
WHERE state = 'open' GROUP BY name \gexec
