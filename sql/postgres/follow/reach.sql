-- Has this server connect to another, and fails where it cannot. It is meant for a
-- transaction that is rolled back: then nothing of it is left, on neither side.
DO $do$
BEGIN
    EXECUTE format(
        'CREATE SUBSCRIPTION shardid_reach CONNECTION %L PUBLICATION shardid_reach WITH (connect = true, enabled = false, create_slot = false, copy_data = false, slot_name = NONE)',
        current_setting('shardid_follow.way_in'));
END
$do$
