-- Creates some shards ($1) with a layout ($2), each in its own schema.
SELECT count(shardid.create_shard(s.shard, NULL::name, $2::text, false, NULL::bigint)) AS created
  FROM unnest($1::integer[]) AS s(shard)
