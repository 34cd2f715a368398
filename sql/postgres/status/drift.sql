-- Shards whose last id is ahead of this server's clock, the furthest first.
SELECT s.shard, floor(extract(epoch FROM ahead.drift) * 1000)::bigint AS drift_ms
  FROM shardid.shard s
  JOIN shardid.layout l ON l.name = s.layout
  JOIN pg_sequence q ON q.seqrelid = s.sequence::oid
 CROSS JOIN LATERAL (
     SELECT CASE WHEN has_sequence_privilege(q.seqrelid, 'USAGE, SELECT') THEN nullif(pg_sequence_last_value(q.seqrelid::regclass), q.seqstart) END
 ) AS i (last)
 -- What is no id of its layout is of no time.
 CROSS JOIN LATERAL (
     SELECT CASE WHEN i.last BETWEEN 0 AND ((l.ticks - 1)::numeric * l.shards + l.shards - 1) * l.slots + l.slots - 1
                 -- At its share of the tick, as shardid.shards has it.
                 THEN l.epoch + l.tick * (i.last / l.slots / l.shards) + l.tick * ((i.last % l.slots + (i.last % l.slots = l.slots - 1)::integer)::float8 / l.slots) - clock_timestamp() END
 ) AS ahead (drift)
 WHERE ahead.drift >= interval '1 ms' AND s.state IN ('open', 'fenced')
 ORDER BY ahead.drift DESC, s.shard
