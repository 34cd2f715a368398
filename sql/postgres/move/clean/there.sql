-- The schemas that are here, and the shard that each is a copy of, whatever it is called now.
SELECT n.nspname::text AS schema, s.shard
  FROM pg_namespace n
  LEFT JOIN (shardid.shard s JOIN pg_class c ON c.oid = s.sequence) ON c.relnamespace = n.oid
