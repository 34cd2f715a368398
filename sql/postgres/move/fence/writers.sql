-- Transactions of this database that have written anything and have not ended, the oldest first;
-- of $1 alone, where that is not null. Not those of workers that apply what they follow, of the
-- server's own, nor of other moves: none of them changes a definition here.
, writer AS (
    SELECT a.backend_xid::text AS xid, coalesce(a.xact_start, a.state_change) AS since,
           format('process %s (%s)', a.pid, concat_ws(' ', a.usename, nullif(a.application_name, ''))) AS who
      FROM pg_stat_activity a
     WHERE a.backend_xid IS NOT NULL AND a.datname = current_database() AND a.pid <> pg_backend_pid()
       AND a.usesysid IS NOT NULL AND a.application_name !~ '^shardid move by '
       AND NOT EXISTS (SELECT FROM pg_stat_subscription s WHERE s.pid = a.pid)
    UNION ALL
    SELECT p.transaction::text, p.since, format('prepared transaction %s (%s)', p.gid, p.owner)
      FROM prepared p
     WHERE p.database = current_database()
)
SELECT xid, format('%s, open for %s s', who, coalesce(floor(extract(epoch FROM clock_timestamp() - since)), 0)) AS who
  FROM writer
 WHERE $1::text[] IS NULL OR xid = ANY ($1)
 ORDER BY since
