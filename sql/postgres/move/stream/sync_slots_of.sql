-- The slots by which a server ($1, its system identifier) has copied tables from this database, and which nobody reads.
SELECT slot_name::text FROM pg_replication_slots
 WHERE slot_name LIKE format('pg\_%%\_sync\_%%\_%s', $1::text) AND database = current_database() AND NOT active
