-- Sequences that shards and id sequences name here and that are not their generators, so that no
-- ids come from them; and what a generator of them has.
SELECT g.shard, g.sequence::regclass::text, g.is_id_sequence, l.shards * l.slots AS increment, g.shard * l.slots AS min
  FROM (SELECT shard, sequence::oid, layout, false FROM shardid.shard WHERE state IN ('open', 'fenced')
        UNION ALL
        SELECT i.shard, i.sequence::oid, i.layout, true
          FROM shardid.id_sequence i LEFT JOIN shardid.shard s USING (shard)
         WHERE coalesce(s.state, 'open') IN ('open', 'fenced', 'dropped'))
       AS g (shard, sequence, layout, is_id_sequence)
  JOIN shardid.layout l ON l.name = g.layout
  JOIN pg_sequence q ON q.seqrelid = g.sequence
 WHERE (q.seqincrement, q.seqmin) <> (l.shards * l.slots, g.shard * l.slots)
 ORDER BY 1, 2
