-- Tickets and segment tags that were made or raised before this server was restored or
-- promoted, or in the database that a dump of it came from, and how far they are. Rows of the
-- extension's older versions do not tell.
WITH here (history) AS (
    SELECT (SELECT c.system_identifier FROM pg_control_system() c) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
           || '/' || (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
     WHERE NOT pg_is_in_recovery()
), numbered AS (
    SELECT 'ticket' AS kind, t.name, to_jsonb(t) AS row, t.sequence::oid AS sequence, t.floor AS least, t.last_gapless AS gapless
      FROM shardid.ticket t
    UNION ALL
    SELECT 'segment', s.tag, to_jsonb(s), s.sequence::oid, s.start - 1, NULL
      FROM shardid.segment s
)
SELECT r.kind, r.name, CASE r.kind WHEN 'ticket' THEN nullif(greatest(n.last, r.least), r.least) ELSE coalesce(n.last, r.least) END AS last
  FROM here
  JOIN numbered r ON r.row ? 'history' AND r.row ->> 'history' IS DISTINCT FROM here.history
  JOIN pg_sequence q ON q.seqrelid = r.sequence
 CROSS JOIN LATERAL (
     SELECT coalesce(r.gapless, CASE WHEN has_sequence_privilege(q.seqrelid, 'USAGE, SELECT')
                                     THEN nullif(pg_sequence_last_value(q.seqrelid::regclass), q.seqmax) END)
 ) AS n (last)
 ORDER BY 1, 2
