-- The tables of the demo in every shard of this node, and views over all of them.
\set ON_ERROR_STOP on
SELECT format('SET search_path = %I, public', schema),
    'CREATE TABLE users (id bigint PRIMARY KEY DEFAULT ' || call || ', name text NOT NULL UNIQUE)',
    'CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT ' || call || ', user_id bigint NOT NULL REFERENCES users, caption text, width int, height int)',
    'CREATE TABLE likes (id bigint PRIMARY KEY DEFAULT ' || call || ', photo_id bigint NOT NULL REFERENCES photos, user_id bigint NOT NULL)'
FROM shardid.shards, format('next_id(%s)', shard) AS call
WHERE state = 'open' ORDER BY shard \gexec
SET search_path = public;

-- What psql sees first: the rows of all shards of this node.
SELECT format('CREATE VIEW public.%I AS %s', name,
        string_agg(format('SELECT * FROM %I.%I', schema, name), ' UNION ALL ' ORDER BY shard))
FROM shardid.shards, unnest(ARRAY['users', 'photos', 'likes']) AS name
WHERE state = 'open' GROUP BY name \gexec

-- Which files of rows have been loaded.
CREATE TABLE public.loaded (file text PRIMARY KEY);
