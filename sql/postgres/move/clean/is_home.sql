-- The state of a shard ($1) that lives in a schema ($2) here; no row where what is there is a copy,
-- and it stays one until this transaction ends.
SELECT s.state
  FROM shardid.shard s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE s.shard = $1 AND n.nspname = $2 AND s.state IN ('open', 'fenced')
   FOR UPDATE OF s
