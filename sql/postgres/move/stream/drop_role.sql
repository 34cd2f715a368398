-- Drops the role that was made for a stream ($1), where the subscription is gone without it. It owns only what
-- code of the shard's owners has made with its rights: that goes, and is never given to us, or it would run with
-- ours. Where something depends on that, or somebody holds it, or another database names the role, it stays, without a
-- right here. One that a subscription belongs to stays as it is.
SELECT format($drop$
DO $do$
DECLARE
    home name;
    given record;
BEGIN
    ALTER ROLE %1$I NOLOGIN NOBYPASSRLS PASSWORD NULL;
    -- Whoever truncates a table changes the row that holds its rights. It is waited for before the database's row is changed:
    -- what holds that keeps all other moves there waiting.
    -- Of two that change a row at once, one fails, and is made again.
    FOR attempt IN REVERSE 100..0 LOOP
        BEGIN
            FOR home IN SELECT n.nspname FROM pg_namespace n, aclexplode(n.nspacl) a WHERE a.grantee = %1$L::regrole LOOP
                IF home <> 'shardid' THEN
                    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %%1$I FROM %%2$I', home, %1$L);
                    EXECUTE format('REVOKE ALL ON ALL ROUTINES IN SCHEMA %%1$I FROM %%2$I', home, %1$L);
                END IF;
                EXECUTE format('REVOKE ALL ON SCHEMA %%1$I FROM %%2$I', home, %1$L);
            END LOOP;
            IF EXISTS (SELECT FROM pg_database d, aclexplode(d.datacl) a
                        WHERE d.datname = current_database() AND a.grantee = %1$L::regrole) THEN
                EXECUTE format('REVOKE ALL ON DATABASE %%1$I FROM %%2$I', current_database(), %1$L);
            END IF;
            EXIT;
        EXCEPTION
            WHEN internal_error THEN
                IF attempt = 0 THEN
                    RAISE;
                END IF;
        END;
    END LOOP;
    SET LOCAL lock_timeout = '5s';
    BEGIN
        DROP OWNED BY %1$I;
        BEGIN
            DROP ROLE %1$I;
        EXCEPTION
            WHEN dependent_objects_still_exist THEN
                FOR given IN SELECT g.rolname AS role, o.rolname AS grantor FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid JOIN pg_roles o ON o.oid = m.grantor
                              WHERE m.member = %1$L::regrole
                LOOP
                    EXECUTE format('REVOKE %%1$I FROM %%2$I GRANTED BY %%3$I', given.role, %1$L, given.grantor);
                END LOOP;
        END;
    EXCEPTION
        WHEN dependent_objects_still_exist OR lock_not_available THEN
            NULL;
    END;
END
$do$
$drop$, r.rolname) AS statement
  FROM pg_roles r
 WHERE r.rolname = $1 AND r.rolname ~ '^shardid_(move|back)_[0-9]+$'
   AND NOT EXISTS (SELECT FROM pg_subscription s WHERE s.subowner = r.oid)
