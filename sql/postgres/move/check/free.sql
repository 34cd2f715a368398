-- Whether this server can say how many bytes are free on its disk: PostgreSQL
-- itself cannot, but a function of this name may have been made.
SELECT format('SELECT %s()::bigint', p.oid::regproc) AS statement
  FROM pg_proc p
 WHERE p.oid = to_regprocedure('public.shardid_free_bytes()')
