-- Whom a server process ($1) waits for in the end, the longest at it first, and for which table, where it is for one: who waits
-- himself is not to blame.
, blocker AS (
    SELECT r.pid, r.waiter
      FROM (WITH RECURSIVE chain (pid, waiter) AS (
                SELECT u.pid, $1::int FROM unnest(pg_blocking_pids($1::int)) AS u(pid)
                UNION
                SELECT u.pid, c.pid FROM chain c CROSS JOIN LATERAL unnest(pg_blocking_pids(c.pid)) AS u(pid) WHERE c.pid <> 0)
            SELECT c.pid, c.waiter FROM chain c) r
     WHERE r.pid = 0 OR pg_blocking_pids(r.pid) = '{}'
), holder AS (
    SELECT coalesce(a.xact_start, a.state_change, a.backend_start) AS since,
           format('process %s (%s for %s s)', a.pid,
                  concat_ws(', ', concat_ws(' ', coalesce(a.usename, a.backend_type), nullif(a.application_name, '')), a.state),
                  floor(extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, a.state_change, a.backend_start)))) AS who,
           format('SELECT pg_catalog.pg_terminate_backend(%s)', a.pid) AS how
      FROM pg_stat_activity a
     WHERE a.pid IN (SELECT b.pid FROM blocker b)
    UNION ALL
    -- A prepared transaction has no process: it has what the one before it waits for.
    SELECT p.since, format('prepared transaction %s (%s, for %s s)', p.gid, p.owner, floor(extract(epoch FROM clock_timestamp() - p.since))),
           format('COMMIT PREPARED %s or ROLLBACK PREPARED %1$s in database %s', p.gid, p.database)
      FROM blocker b
      JOIN pg_locks w ON w.pid = b.waiter AND NOT w.granted
      JOIN pg_locks h ON h.granted AND h.pid IS NULL AND h.locktype = w.locktype
                     AND (h.database, h.relation, h.page, h.tuple, h.virtualxid, h.transactionid, h.classid, h.objid, h.objsubid)
                         IS NOT DISTINCT FROM
                         (w.database, w.relation, w.page, w.tuple, w.virtualxid, w.transactionid, w.classid, w.objid, w.objsubid)
      JOIN prepared p ON p.locks = h.virtualtransaction
     WHERE b.pid = 0
    UNION ALL
    SELECT a.xact_start, format('a commit waits for a synchronous standby (synchronous_standby_names is %s)', current_setting('synchronous_standby_names')),
           'a standby that is back, or ALTER SYSTEM SET synchronous_standby_names and SELECT pg_reload_conf()'
      FROM pg_stat_activity a
     WHERE a.pid = $1::int AND a.wait_event = 'SyncRep'
)
SELECT concat_ws(' holds ', h.who,
           (SELECT l.relation::regclass::text FROM pg_locks l WHERE l.pid = $1::int AND NOT l.granted AND l.locktype = 'relation' LIMIT 1)) AS who, h.how
  FROM holder h ORDER BY h.since LIMIT 1
