-- Whether there is no such slot of this database any more.
SELECT NOT EXISTS (SELECT FROM pg_replication_slots
                    WHERE slot_name = $1 AND database = current_database()) AS gone
