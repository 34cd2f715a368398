-- Layouts in use here that end within a year.
SELECT l.name, to_char(e.ends_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS ends
  FROM shardid.layout l
 CROSS JOIN LATERAL (SELECT shardid.layout_end(l.epoch, l.tick, l.ticks)) AS e (ends_at)
 WHERE e.ends_at < now() + interval '1 year'
   AND (l.name IN (SELECT layout FROM shardid.shard WHERE state IN ('open', 'fenced'))
     OR l.name IN (SELECT layout FROM shardid.id_sequence))
 ORDER BY 1
