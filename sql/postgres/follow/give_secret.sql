-- Gives a role its secret, of which the server is told a verifier alone.
DO $do$
BEGIN
    EXECUTE format('ALTER ROLE %I PASSWORD %L', current_setting('shardid_follow.role'), current_setting('shardid_follow.verifier'));
END
$do$
