-- What an old session calls. Nothing in it loads or needs the installed library.
CREATE FUNCTION old_next_ids(shard int, count int) RETURNS SETOF bigint
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS '$libdir/shardid_old_library', 'old_next_ids';
