-- The schema and name of a shard's sequence, and the shard's state here.
SELECT n.nspname::text AS schema, c.relname::text AS sequence, s.state
  FROM shardid.shard s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE s.shard = $1
