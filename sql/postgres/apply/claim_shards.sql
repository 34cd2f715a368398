-- Claims shards ($1) here for a term ($2); the highest term of any that is known here.
SELECT max(shardid.claim_shard(shard, $2::bigint)) AS known FROM unnest($1::integer[]) AS shard
