-- Creates some shards ($1) with a layout ($2), each in its own schema.
SELECT count(create_shard(shard => shard, layout => $2)) AS created
  FROM unnest($1::integer[]) AS shard
