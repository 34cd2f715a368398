-- Which sessions of this database run a statement now, since when, and whether they have written anything. The next statement
-- of each knows of the event triggers that there are.
SELECT format('%s %s', pid, query_start) AS session, backend_xid IS NOT NULL AS writes
  FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state = 'active'
   AND query_start IS NOT NULL
