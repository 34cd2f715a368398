-- Who else holds locks on the tables of a schema ($1), each for a person.
, held AS (
    SELECT l.pid, l.virtualtransaction
      FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE l.granted AND l.locktype = 'relation' AND n.nspname = $1
       AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
), holder AS (
    SELECT a.xact_start AS since,
           format('process %s (%s, %s for %s s)', a.pid, concat_ws(' ', coalesce(a.usename, a.backend_type), nullif(a.application_name, '')), a.state,
                  floor(extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, a.state_change)))) AS who
      FROM pg_stat_activity a
     WHERE a.pid <> pg_backend_pid() AND a.pid IN (SELECT h.pid FROM held h)
    UNION ALL
    SELECT p.since, format('prepared transaction %s (%s, for %s s)', p.gid, p.owner, floor(extract(epoch FROM clock_timestamp() - p.since)))
      FROM prepared p
     WHERE p.locks IN (SELECT h.virtualtransaction FROM held h WHERE h.pid IS NULL)
)
SELECT who FROM holder ORDER BY since
