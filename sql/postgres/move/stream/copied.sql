-- The tables of a subscription ($1): whether each is copied, and the rows and
-- bytes of those under way, null where none is.
SELECT format('%I.%I', n.nspname, c.relname) AS name,
       r.srsubstate IN ('r', 's') AS copied,
       p.tuples_processed AS rows,
       p.bytes_processed AS bytes
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
  JOIN pg_subscription_rel r ON r.srsubid = s.oid
  JOIN pg_class c ON c.oid = r.srrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_stat_progress_copy p ON p.relid = r.srrelid AND p.datname = current_database()
 WHERE s.subname = $1
