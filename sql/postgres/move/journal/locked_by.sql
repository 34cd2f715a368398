-- Which sessions hold the lock of a shard ($1): what they call themselves, which says who runs them.
SELECT format('process %s (%s)', a.pid, concat_ws(' ', a.usename, nullif(a.application_name, ''))) AS holder
  FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.granted AND l.locktype = 'advisory' AND l.objsubid = 2 AND l.classid = 324843900 AND l.objid = $1::integer::oid
   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
