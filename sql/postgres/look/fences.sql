-- The shards that live here, by the rows of this node, and whose tables have triggers of a fence, also
-- those that are switched off: rows that are loaded at once pay for those, too.
SELECT coalesce(array_agg(s.shard ORDER BY s.shard), '{}') AS shards
  FROM shardid.shard s
  JOIN pg_class q ON q.oid = s.sequence
 WHERE s.state IN ('open', 'fenced')
   AND (q.relnamespace, s.shard::text) IN
       (SELECT c.relnamespace, substring(encode(t.tgargs, 'escape') FROM '^[0-9]+')
          FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
         WHERE t.tgfoid = to_regprocedure('shardid.refuse_write()'))
