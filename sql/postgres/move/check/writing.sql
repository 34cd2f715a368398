-- Who has written anywhere on this server and has not ended that, for the longest time; and what ends it.
, writing AS (
    SELECT a.xact_start AS since,
           format('process %s (%s)', a.pid, concat_ws(', ', coalesce(a.usename, a.backend_type), a.datname, nullif(a.application_name, ''))) AS who,
           format('SELECT pg_catalog.pg_terminate_backend(%s)', a.pid) AS how
      FROM pg_stat_activity a
     WHERE a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid()
    UNION ALL
    SELECT p.since, format('prepared transaction %s (%s, %s)', p.gid, p.owner, p.database),
           format('COMMIT PREPARED %s or ROLLBACK PREPARED %1$s in database %s', p.gid, p.database)
      FROM prepared p
)
SELECT format('%s, open for %s s', who, floor(extract(epoch FROM clock_timestamp() - since))), how
  FROM writing
 ORDER BY since
 LIMIT 1
