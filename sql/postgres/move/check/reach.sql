-- A statement that has this server connect to another by an address ($1), and
-- fails where it cannot. It is meant for a transaction that is rolled back:
-- then nothing of it is left, on neither side.
SELECT format(
           'CREATE SUBSCRIPTION shardid_reach CONNECTION %L PUBLICATION shardid_reach WITH (connect = true, enabled = false, create_slot = false, copy_data = false, slot_name = NONE)',
           $1::text) AS statement
