-- Which sessions have shards in hand here, and keep others from claiming them.
SELECT format('process %s (%s)', a.pid, concat_ws(' ', a.usename, nullif(a.application_name, ''))) AS holder
  FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.granted AND l.locktype = 'object' AND l.classid = to_regclass('shardid.shard_term')::oid
   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
   AND l.pid <> pg_backend_pid()
 GROUP BY a.pid, a.usename, a.application_name
 ORDER BY a.pid
