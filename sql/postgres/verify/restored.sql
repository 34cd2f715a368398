-- Tickets and segment tags that were made or raised before this server was restored or
-- promoted, or in the database that a dump of it came from, and how far they are. Rows of the
-- extension's older versions do not tell.
SELECT 'ticket' AS kind, t.name, t.last_ticket AS last
  FROM shardid.tickets t
  JOIN shardid.ticket r ON r.name = t.name
 WHERE NOT pg_is_in_recovery() AND to_jsonb(r) ? 'history' AND r.sequence IS NOT NULL
   AND to_jsonb(r) ->> 'history' IS DISTINCT FROM
       (SELECT c.system_identifier FROM pg_control_system() c) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
       || '/' || (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
UNION ALL
SELECT 'segment', s.biz_tag, s.max_id
  FROM shardid.segments s
  JOIN shardid.segment r ON r.tag = s.biz_tag
 WHERE NOT pg_is_in_recovery() AND to_jsonb(r) ? 'history' AND r.sequence IS NOT NULL
   AND to_jsonb(r) ->> 'history' IS DISTINCT FROM
       (SELECT c.system_identifier FROM pg_control_system() c) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
       || '/' || (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
 ORDER BY 1, 2
