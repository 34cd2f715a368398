-- The shards that live here with the bytes of their schemas.
SELECT s.shard, coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes
  FROM shardid.shard s
  JOIN pg_class q ON q.oid = s.sequence
  LEFT JOIN pg_class c ON c.relnamespace = q.relnamespace AND c.relkind IN ('r', 'm')
 WHERE s.state IN ('open', 'fenced')
 GROUP BY s.shard
