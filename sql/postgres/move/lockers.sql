-- Who keeps others from reading a table here, each for a person, and what ends it: a look waits for nobody else.
, locker AS (
    SELECT coalesce(a.xact_start, a.state_change) AS since,
           format('process %s (%s, %s for %s s)', a.pid, concat_ws(' ', coalesce(a.usename, a.backend_type), nullif(a.application_name, '')), a.state,
                  floor(extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, a.state_change)))) AS who,
           format('SELECT pg_catalog.pg_terminate_backend(%s)', a.pid) AS how, a.pid, NULL AS locks
      FROM pg_stat_activity a
     WHERE a.pid <> pg_backend_pid()
    UNION ALL
    SELECT p.since, format('prepared transaction %s (%s, for %s s)', p.gid, p.owner, floor(extract(epoch FROM clock_timestamp() - p.since))),
           format('COMMIT PREPARED %s or ROLLBACK PREPARED %1$s in database %s', p.gid, p.database), NULL, p.locks
      FROM prepared p
)
SELECT format('%s holds %s', k.who, string_agg(format('%I.%I', n.nspname, c.relname), ', ' ORDER BY n.nspname, c.relname)) AS holder, k.how
  FROM pg_locks l
  JOIN pg_class c ON c.oid = l.relation
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN locker k ON k.pid = l.pid OR l.pid IS NULL AND k.locks = l.virtualtransaction
 WHERE l.granted AND l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock'
   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
 GROUP BY k.who, k.how, k.since
 ORDER BY k.since
