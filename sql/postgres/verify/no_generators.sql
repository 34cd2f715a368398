-- Sequences that shards and id sequences name here and that are not their generators, so that no
-- ids come from them; and what a generator of them has, if their layout is there and has room for the shard.
SELECT g.shard, g.sequence::regclass::text AS sequence, g.is_id_sequence, g.layout,
       CASE WHEN g.shard < l.shards THEN l.shards::numeric * l.slots END::bigint AS increment,
       CASE WHEN g.shard < l.shards THEN g.shard::numeric * l.slots END::bigint AS min
  FROM (SELECT shard, sequence::oid, layout, false FROM shardid.shard WHERE state IN ('open', 'fenced')
        UNION ALL
        SELECT i.shard, i.sequence::oid, i.layout, true
          FROM shardid.id_sequence i LEFT JOIN shardid.shard s USING (shard)
         WHERE coalesce(s.state, 'open') IN ('open', 'fenced', 'dropped'))
       AS g (shard, sequence, layout, is_id_sequence)
  LEFT JOIN shardid.layout l ON l.name = g.layout
  JOIN pg_sequence q ON q.seqrelid = g.sequence
 WHERE (q.seqincrement, q.seqmin) IS DISTINCT FROM (l.shards::numeric * l.slots, g.shard::numeric * l.slots)
 ORDER BY 1, 2
