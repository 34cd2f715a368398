-- The id sequences of a shard ($1), by schema, name and layout.
SELECT n.nspname::text AS schema, c.relname::text AS sequence, s.layout
  FROM shardid.id_sequence s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE s.shard = $1
 ORDER BY 1, 2
