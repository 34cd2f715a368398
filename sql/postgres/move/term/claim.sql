-- Claims a shard ($1) here for a term ($2); the highest term that is known here.
SELECT shardid.claim_shard($1, $2) AS known
