-- Whether anything of a fence stands around a shard ($1) and its schema ($2).
SELECT EXISTS (
    SELECT FROM pg_trigger t
      JOIN pg_class c ON c.oid = t.tgrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $2 AND t.tgfoid = to_regprocedure('shardid.refuse_write()')
       AND NOT EXISTS (SELECT FROM shardid.shard WHERE shard = $1 AND state = 'moved'))
    OR EXISTS (SELECT FROM shardid.shard WHERE shard = $1 AND state = 'fenced') AS stands
