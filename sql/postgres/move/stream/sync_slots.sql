-- The slots by which the tables of a subscription (its number, $1) were copied,
-- which a crash may have left.
SELECT slot_name::text FROM pg_replication_slots
 WHERE slot_name LIKE format('pg\_%s\_sync\_%%', $1::bigint) AND NOT active
