-- Waits for who changes triggers of the tables of a stream, and has not committed: whoever begins after this sees the stream.
DO $do$
DECLARE
    member regclass;
BEGIN
    FOR member IN SELECT r.srrelid FROM pg_subscription s
        JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
        JOIN pg_subscription_rel r ON r.srsubid = s.oid
        WHERE s.subname = current_setting('shardid_follow.stream')
        ORDER BY r.srrelid
    LOOP
        EXECUTE format('LOCK TABLE ONLY %s IN ROW EXCLUSIVE MODE', member);
    END LOOP;
END
$do$
