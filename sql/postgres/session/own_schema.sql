-- Refuses, as a superuser, a database in whose schema of our name is anything that others have made and that a call of ours may
-- fit. One that no superuser owns has nothing of ours.
DO $do$
DECLARE
    home oid;
    owner name;
    stranger text;
BEGIN
    IF NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = current_user) THEN
        RETURN;
    END IF;
    SELECT n.oid, CASE WHEN NOT o.rolsuper THEN o.rolname END INTO home, owner
      FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles o ON o.oid = n.nspowner
     WHERE n.nspname = 'shardid';
    IF owner IS NOT NULL THEN
        RAISE EXCEPTION 'schema shardid is role %''s, and not the extension''s', owner
            USING ERRCODE = '55000', HINT = '`ALTER SCHEMA shardid RENAME TO ...;` there, if it is somebody''s';
    END IF;
    -- What lies in the schema beside the extension may fit a call of ours better than what the extension has.
    SELECT pg_catalog.pg_describe_object(d.classid, d.objid, 0) INTO stranger
      FROM pg_catalog.pg_depend d
      LEFT JOIN pg_catalog.pg_proc p ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND p.oid = d.objid
     WHERE d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass AND d.refobjid = home AND d.deptype = 'n'
       AND d.classid NOT IN ('pg_catalog.pg_class'::pg_catalog.regclass, 'pg_catalog.pg_type'::pg_catalog.regclass, 'pg_catalog.pg_extension'::pg_catalog.regclass)
       AND (p.proname = 'made_by_superuser' AND p.proargtypes::pg_catalog.text ~ ' ') IS NOT TRUE
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e JOIN pg_catalog.pg_extension x ON x.oid = e.refobjid AND x.extname = 'shardid'
                        WHERE e.classid = d.classid AND e.objid = d.objid
                          AND e.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND e.deptype = 'e')
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '%, in schema shardid, is none of the extension''s, and what a superuser calls there could be that instead', stranger
            USING ERRCODE = '55000', HINT = 'drop it there, or put it into another schema';
    END IF;
END
$do$
