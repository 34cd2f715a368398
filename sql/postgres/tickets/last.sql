-- The last number of a ticket; the floor where there was none yet.
SELECT CASE WHEN n.last > t.floor AND NOT n.is_at_end THEN n.last ELSE t.floor END
  FROM shardid.ticket t
  LEFT JOIN pg_sequence q ON q.seqrelid = t.sequence::oid
 CROSS JOIN LATERAL (
     SELECT CASE WHEN has_sequence_privilege(q.seqrelid, 'USAGE, SELECT') THEN pg_sequence_last_value(q.seqrelid::regclass) END
 ) AS l (last)
 CROSS JOIN LATERAL (
     SELECT coalesce(t.last_gapless, l.last),
            coalesce(t.last_gapless IS NULL AND (l.last > q.seqmax OR l.last = q.seqmax AND t.ceiling IS NULL), false)
 ) AS n (last, is_at_end)
 WHERE t.name = $1
