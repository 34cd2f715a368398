-- Ends who still reads a slot ($1) of this database.
SELECT pg_terminate_backend(active_pid)
  FROM pg_replication_slots
 WHERE slot_name = $1 AND database = current_database() AND active_pid IS NOT NULL
