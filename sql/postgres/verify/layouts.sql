-- Layouts in use here that end within a year.
SELECT l.name, to_char(l.ends_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS ends
  FROM shardid.layouts l
 WHERE l.ends_at < now() + interval '1 year'
   AND (l.name IN (SELECT layout FROM shardid.shard WHERE state IN ('open', 'fenced'))
     OR l.name IN (SELECT layout FROM shardid.id_sequence))
 ORDER BY 1
