-- A statement that refuses to go on where a shard ($1) is claimed for another term than $2.
-- It is said before a change, in the same transaction; the claim stays until that ends.
SELECT format('SELECT shardid.check_term(%s::integer, %s::bigint)', $1::integer, $2::bigint) AS statement
