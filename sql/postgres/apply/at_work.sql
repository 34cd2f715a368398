-- Which sessions work on moves by a catalog in this database, and on which shards: they hold the locks of
-- move/journal/lock.sql.
SELECT format('process %s (%s) is working on a move of shard %s', a.pid, concat_ws(' ', a.usename, nullif(a.application_name, '')),
              string_agg(l.objid::text, ', ' ORDER BY l.objid::bigint)) AS at_work
  FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.granted AND l.locktype = 'advisory' AND l.objsubid = 2 AND l.classid = 324843900
   AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
 GROUP BY a.pid, a.usename, a.application_name
 ORDER BY a.pid
