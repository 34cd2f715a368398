-- The tickets of this server; by the tables, as no view is read by a session of the program. The first
-- gapless number takes the sequence to its end, which no plain one reaches.
SELECT t.name, t.server::bigint AS server, t.servers::bigint AS servers,
       CASE WHEN n.last > t.floor AND NOT n.is_at_end THEN n.last ELSE t.floor END AS last,
       t.floor, t.ceiling, 9223372036854775807 AS max
  FROM shardid.ticket t
  LEFT JOIN pg_sequence q ON q.seqrelid = t.sequence::oid
 CROSS JOIN LATERAL (
     SELECT CASE WHEN has_sequence_privilege(q.seqrelid, 'USAGE, SELECT') THEN pg_sequence_last_value(q.seqrelid::regclass) END
 ) AS l (last)
 CROSS JOIN LATERAL (
     SELECT coalesce(t.last_gapless, l.last),
            coalesce(t.last_gapless IS NULL AND (l.last > q.seqmax OR l.last = q.seqmax AND t.ceiling IS NULL), false)
 ) AS n (last, is_at_end)
 ORDER BY t.name
