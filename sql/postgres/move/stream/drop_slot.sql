-- Drops a slot of this database that nobody reads.
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
 WHERE slot_name = $1 AND database = current_database() AND NOT active
