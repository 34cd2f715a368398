-- Notes all objects that stay when a schema ($1) is dropped, until this transaction ends. Not in a table: the copy may be what has filled
-- the disk.
SELECT format('WITH RECURSIVE goes (classid, objid) AS (
        SELECT ''pg_namespace''::regclass::oid, oid FROM pg_namespace WHERE nspname = %L
        UNION
        SELECT d.classid, d.objid FROM goes g JOIN pg_depend d ON d.refclassid = g.classid AND d.refobjid = g.objid
    )
    SELECT set_config(''shardid_clean.stays'', coalesce(string_agg(DISTINCT format(''%%s %%s'', classid, objid), '',''), ''''), true) FROM pg_depend d
     WHERE NOT EXISTS (SELECT FROM goes g WHERE g.classid = d.classid AND g.objid = d.objid)', $1::text) AS statement
