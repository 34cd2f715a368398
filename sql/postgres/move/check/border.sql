-- What crosses the border of a schema: something in it that needs something
-- outside, or the other way round. What extensions and the system bring is on
-- every node.
WITH place AS (
    SELECT 'pg_class'::regclass AS classid, oid AS objid, relnamespace AS schema FROM pg_class
    UNION ALL SELECT 'pg_proc'::regclass, oid, pronamespace FROM pg_proc
    UNION ALL SELECT 'pg_type'::regclass, oid, typnamespace FROM pg_type
    UNION ALL SELECT 'pg_operator'::regclass, oid, oprnamespace FROM pg_operator
    UNION ALL SELECT 'pg_collation'::regclass, oid, collnamespace FROM pg_collation
    UNION ALL SELECT 'pg_ts_config'::regclass, oid, cfgnamespace FROM pg_ts_config
    UNION ALL SELECT 'pg_conversion'::regclass, oid, connamespace FROM pg_conversion
    -- These have no schema of their own, but that of their table.
    UNION ALL SELECT 'pg_constraint'::regclass, k.oid, k.connamespace FROM pg_constraint k
    UNION ALL SELECT 'pg_attrdef'::regclass, d.oid, c.relnamespace FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
    UNION ALL SELECT 'pg_trigger'::regclass, t.oid, c.relnamespace FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    UNION ALL SELECT 'pg_rewrite'::regclass, r.oid, c.relnamespace FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
    UNION ALL SELECT 'pg_policy'::regclass, p.oid, c.relnamespace FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
), here AS (
    SELECT oid FROM pg_namespace WHERE nspname = $1
), common AS (
    SELECT classid, objid FROM pg_depend WHERE deptype = 'e'
), crossing AS (
    SELECT DISTINCT d.classid, d.objid, d.refclassid, d.refobjid
      FROM pg_depend d
      JOIN place a ON a.classid = d.classid AND a.objid = d.objid
      JOIN place b ON b.classid = d.refclassid AND b.objid = d.refobjid
     WHERE (a.schema = (SELECT oid FROM here)) <> (b.schema = (SELECT oid FROM here))
       AND d.deptype <> 'e'
       AND (d.refclassid, d.refobjid) NOT IN (SELECT classid, objid FROM common)
       AND (d.classid, d.objid) NOT IN (SELECT classid, objid FROM common)
       AND a.schema NOT IN ('pg_toast'::regnamespace)
       AND b.schema NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
)
SELECT format('%s needs %s, across the border of schema %I',
              pg_describe_object(classid, objid, 0), pg_describe_object(refclassid, refobjid, 0), $1::text) AS problem,
       format('bring both into schema %I, or drop what needs the other', $1::text) AS hint
  FROM crossing
 WHERE NOT (classid = 'pg_trigger'::regclass
            AND EXISTS (SELECT FROM pg_trigger t WHERE t.oid = objid AND t.tgname = 'shardid_fence'))
 ORDER BY 1
