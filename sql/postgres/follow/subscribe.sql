-- Subscribes to a publication and slot of the same name, unless that is done. Each change is on
-- disk before it is acknowledged: the fence waits for that.
DO $do$
DECLARE
    stream text := current_setting('shardid_follow.stream');
BEGIN
    IF NOT EXISTS (SELECT FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
                    WHERE s.subname = stream AND d.datname = current_database()) THEN
        EXECUTE format(
            'CREATE SUBSCRIPTION %1$I CONNECTION %2$L PUBLICATION %1$I WITH (slot_name = %1$L, create_slot = false, copy_data = %3$s, enabled = %4$s, synchronous_commit = on)',
            stream, current_setting('shardid_follow.way_in'), current_setting('shardid_follow.copy'),
            current_setting('shardid_follow.enabled'));
    END IF;
END
$do$
