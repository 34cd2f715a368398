-- Notes all objects that stay when a schema ($1) is dropped, until this transaction ends.
SELECT format('CREATE TEMPORARY TABLE shardid_stays ON COMMIT DROP AS
    WITH RECURSIVE goes (classid, objid) AS (
        SELECT ''pg_namespace''::regclass::oid, oid FROM pg_namespace WHERE nspname = %L
        UNION
        SELECT d.classid, d.objid FROM goes g JOIN pg_depend d ON d.refclassid = g.classid AND d.refobjid = g.objid
    )
    SELECT DISTINCT classid, objid FROM pg_depend d
     WHERE NOT EXISTS (SELECT FROM goes g WHERE g.classid = d.classid AND g.objid = d.objid)', $1::text) AS statement
