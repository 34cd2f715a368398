-- Whether shards can be claimed here: by an extension that cannot, no move does anything.
SELECT to_regprocedure('shardid.claim_shard(integer, bigint)') IS NOT NULL AS knows_terms
