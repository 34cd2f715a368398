-- Who else holds locks on the tables of a schema ($1), each for a person.
SELECT format('process %s (%s, %s for %s s)', a.pid, concat_ws(' ', a.usename, nullif(a.application_name, '')), a.state,
              floor(extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, a.state_change)))) AS holder
  FROM pg_stat_activity a
 WHERE a.pid <> pg_backend_pid() AND a.pid IN (
       SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
         JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE l.granted AND l.locktype = 'relation' AND n.nspname = $1
          AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
 ORDER BY a.xact_start
