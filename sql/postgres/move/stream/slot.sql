-- Makes a slot, unless it is there: what is written from now on is kept for its reader.
SELECT pg_create_logical_replication_slot($1, 'pgoutput')
 WHERE NOT EXISTS (SELECT FROM pg_replication_slots
                    WHERE slot_name = $1 AND database = current_database())
