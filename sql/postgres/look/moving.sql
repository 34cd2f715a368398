-- The shards that are being moved.
SELECT coalesce(array_agg(shard ORDER BY shard), '{}') AS shards
  FROM shardid.move
 WHERE state NOT IN ('done', 'aborted')
