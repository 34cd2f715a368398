-- Whether there is no such slot any more.
SELECT NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1) AS gone
