-- Gives a subscription another way in.
DO $do$
BEGIN
    EXECUTE format('ALTER SUBSCRIPTION %I CONNECTION %L', current_setting('shardid_follow.stream'), current_setting('shardid_follow.way_in'));
END
$do$
