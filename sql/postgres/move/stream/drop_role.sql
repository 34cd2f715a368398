-- Drops the role that was made for a stream ($1), where the subscription is gone without it. It owns only what
-- code of the shard's owners has made with its rights: that goes, and is never given to us, or it would run with
-- ours. Where something depends on that, or somebody holds it, or another database names the role, it stays, without a
-- right. One that a subscription belongs to stays as it is.
SELECT format($drop$
DO $do$
DECLARE
    home name;
    held regclass;
    is_free boolean := true;
BEGIN
    SET LOCAL lock_timeout = '5s';
    -- Whoever truncates a table changes the row that holds its rights, and one of two who do that fails. It is waited for
    -- before the database's row is changed: what holds that keeps all other moves there waiting.
    BEGIN
        FOR held IN SELECT DISTINCT c.oid FROM pg_shdepend s JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
            JOIN pg_class c ON c.oid = s.objid AND c.relkind IN ('r', 'p')
            WHERE s.classid = 'pg_class'::regclass AND s.deptype = 'a' AND s.refclassid = 'pg_authid'::regclass AND s.refobjid = %1$L::regrole
        LOOP
            EXECUTE format('LOCK TABLE ONLY %%s IN ACCESS SHARE MODE', held);
        END LOOP;
    EXCEPTION
        WHEN lock_not_available THEN
            is_free := false;
    END;
    ALTER ROLE %1$I NOLOGIN NOBYPASSRLS PASSWORD NULL;
    FOR home IN SELECT n.nspname FROM pg_namespace n, aclexplode(n.nspacl) a WHERE a.grantee = %1$L::regrole LOOP
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %%1$I FROM %%2$I', home, %1$L);
        EXECUTE format('REVOKE ALL ON ALL ROUTINES IN SCHEMA %%1$I FROM %%2$I', home, %1$L);
        EXECUTE format('REVOKE ALL ON SCHEMA %%1$I FROM %%2$I', home, %1$L);
    END LOOP;
    -- Of two that change rights on the same database at once, one fails, and is made again.
    FOR attempt IN REVERSE 100..0 LOOP
        EXIT WHEN NOT EXISTS (SELECT FROM pg_database d, aclexplode(d.datacl) a
                               WHERE d.datname = current_database() AND a.grantee = %1$L::regrole);
        BEGIN
            EXECUTE format('REVOKE ALL ON DATABASE %%1$I FROM %%2$I', current_database(), %1$L);
        EXCEPTION
            WHEN internal_error THEN
                IF attempt = 0 THEN
                    RAISE;
                END IF;
        END;
    END LOOP;
    IF is_free THEN
        BEGIN
            DROP OWNED BY %1$I;
            DROP ROLE %1$I;
        EXCEPTION
            WHEN dependent_objects_still_exist OR lock_not_available THEN
                NULL;
        END;
    END IF;
END
$do$
$drop$, r.rolname) AS statement
  FROM pg_roles r
 WHERE r.rolname = $1 AND r.rolname ~ '^shardid_(move|back)_[0-9]+$'
   AND NOT EXISTS (SELECT FROM pg_subscription s WHERE s.subowner = r.oid)
