-- How many bytes those who read this server's WAL are behind: standbys, and
-- copies that follow. A base backup reads too, and is never in time.
SELECT coalesce(nullif(application_name, ''), 'a standby') AS name,
       greatest(0, pg_wal_lsn_diff(pg_current_wal_lsn(), coalesce(replay_lsn, flush_lsn, sent_lsn)))::bigint AS bytes
  FROM pg_stat_replication
 WHERE state IN ('streaming', 'catchup') AND coalesce(replay_lsn, flush_lsn, sent_lsn) IS NOT NULL
