-- Whether a shard ($1) gives ids here.
SELECT EXISTS (SELECT FROM shardid.shard WHERE shard = $1 AND state = 'open') AS is_open
