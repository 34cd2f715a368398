-- The tables of the demo in every shard of this node.
\set ON_ERROR_STOP on
SELECT format('SET search_path = %I, public', schema),
    'CREATE TABLE users (id bigint PRIMARY KEY DEFAULT ' || call || ', name text NOT NULL UNIQUE)',
    'CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT ' || call || ', user_id bigint NOT NULL REFERENCES users, caption text, width int, height int)',
    'CREATE TABLE likes (id bigint PRIMARY KEY DEFAULT ' || call || ', photo_id bigint NOT NULL REFERENCES photos, user_id bigint NOT NULL)'
FROM shardid.shards, format('next_id(%s)', shard) AS call
WHERE state = 'open' ORDER BY shard \gexec
SET search_path = public;

-- Which files of rows have been loaded.
CREATE TABLE public.loaded (file text PRIMARY KEY);
