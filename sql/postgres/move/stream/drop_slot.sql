-- Drops a slot that nobody reads; true once it is gone.
SELECT NOT EXISTS (
    SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
     WHERE slot_name = $1 AND NOT active)
   AND NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1 AND active) AS gone
