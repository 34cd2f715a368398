-- New ids of a shard ($1), as many as $2 says.
SELECT id FROM shardid.next_ids($1::integer, $2::integer) AS id
