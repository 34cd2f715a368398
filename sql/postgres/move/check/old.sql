-- Transactions that have been open for a while: a slot waits for them to end.
SELECT count(*) AS transactions, coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::bigint AS seconds
  FROM pg_stat_activity
 WHERE backend_xid IS NOT NULL AND xact_start < clock_timestamp() - interval '10 s'
   AND pid <> pg_backend_pid()
