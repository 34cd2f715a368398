-- The shards that live here with the bytes of their schemas, as VACUUM and ANALYZE last noted them: for where
-- somebody keeps a table locked, whose size cannot be asked for.
SELECT s.shard, coalesce(sum(p.pages), 0)::bigint * current_setting('block_size')::bigint AS bytes
  FROM shardid.shard s
  JOIN pg_class q ON q.oid = s.sequence
  LEFT JOIN pg_class c ON c.relnamespace = q.relnamespace AND c.relkind IN ('r', 'm')
  LEFT JOIN LATERAL (
      SELECT c.relpages + coalesce(t.relpages, 0)
             + coalesce((SELECT sum(x.relpages) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = c.oid), 0) AS pages
        FROM (SELECT) AS here LEFT JOIN pg_class t ON t.oid = c.reltoastrelid) AS p ON true
 WHERE s.state IN ('open', 'fenced')
 GROUP BY s.shard
