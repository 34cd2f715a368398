-- Whether this session still has the lock of lock/try.sql.
SELECT EXISTS (
    SELECT FROM pg_locks
     WHERE locktype = 'advisory'
       AND pid = pg_backend_pid()
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND (classid::bigint << 32 | objid::bigint) = 32484390062025060
       AND objsubid = 1
       AND granted) AS held
