-- Who has the lock of lock/try.sql.
SELECT l.pid,
       coalesce(a.application_name, '') AS program,
       coalesce(host(a.client_addr), 'this machine') AS address,
       a.backend_start AS since
  FROM pg_locks l
  LEFT JOIN pg_stat_activity a USING (pid)
 WHERE l.locktype = 'advisory'
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND (l.classid::bigint << 32 | l.objid::bigint) = 32484390062025060
   AND l.objsubid = 1
   AND l.granted
