-- Whether a shard was ever moved between a node ($1) and one of another name ($2).
SELECT EXISTS (SELECT FROM shardid.move WHERE ($1::text, $2::text) IN ((source, target), (target, source))) AS moved
