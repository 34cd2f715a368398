-- Ends who still reads a slot ($1), or the slots that copied its tables.
SELECT pg_terminate_backend(active_pid)
  FROM pg_replication_slots
 WHERE slot_name = $1 AND active_pid IS NOT NULL
