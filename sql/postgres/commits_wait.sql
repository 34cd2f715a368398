-- Why every commit of this session would wait, if it would: there is no synchronous standby
-- that could answer. Who may not see what standbys are sees null.
SELECT format('no synchronous standby is connected, and commits wait for one (synchronous_standby_names is %L)',
              current_setting('synchronous_standby_names')) AS problem
 WHERE current_setting('synchronous_standby_names') <> ''
   AND current_setting('synchronous_commit') NOT IN ('off', 'local')
   AND NOT pg_is_in_recovery()
   AND NOT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state IS NULL OR sync_state IN ('sync', 'quorum'))
