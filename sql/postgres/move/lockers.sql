-- Who keeps others from reading a table here, each for a person: a look waits for nobody else.
SELECT format('%s holds %s', format('process %s (%s, %s for %s s)', a.pid, concat_ws(' ', a.usename, nullif(a.application_name, '')), a.state,
              floor(extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, a.state_change)))),
              string_agg(format('%I.%I', n.nspname, c.relname), ', ' ORDER BY n.nspname, c.relname)) AS holder
  FROM pg_locks l
  JOIN pg_class c ON c.oid = l.relation
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.granted AND l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND a.pid <> pg_backend_pid()
   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
 GROUP BY a.pid, a.usename, a.application_name, a.state, a.xact_start, a.state_change
 ORDER BY a.xact_start
