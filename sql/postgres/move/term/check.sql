-- Refuses to go on where a shard ($1) is claimed for another term than $2. The claim
-- stays until the transaction ends.
SELECT shardid.check_term($1, $2)
