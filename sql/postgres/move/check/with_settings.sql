-- Indexes of a schema ($1) on functions that no superuser owns and that have settings of their own: while a move makes the index
-- over rows, such a function is not called with them. An index calls those that it names, and those of operators, of the checks of
-- domains and of ranges that it names.
, calls (index, classid, objid) AS (
    SELECT i.objid, d.refclassid, d.refobjid
      FROM inside i
      JOIN pg_class c ON i.classid = 'pg_class'::regclass AND c.oid = i.objid AND c.relkind IN ('i', 'I')
      JOIN pg_depend d ON d.classid = i.classid AND d.objid = i.objid
    UNION
    SELECT c.index, n.classid, n.objid
      FROM calls c
     CROSS JOIN LATERAL (
        SELECT d.refclassid, d.refobjid FROM pg_depend d WHERE d.classid = c.classid AND d.objid = c.objid
        UNION ALL
        SELECT 'pg_constraint'::regclass, k.oid FROM pg_constraint k WHERE c.classid = 'pg_type'::regclass AND k.contypid = c.objid
     ) AS n (classid, objid)
     WHERE c.classid IN ('pg_operator'::regclass, 'pg_type'::regclass, 'pg_constraint'::regclass)
)
SELECT format('%s %s calls %s %s, which has settings of its own (SET)', w.type, w.identity, f.type, f.identity) AS problem,
       format('ALTER %s %s RESET ALL, where what it calls is named with its schema', upper(f.type), f.identity) AS hint
  FROM calls i
  JOIN pg_proc p ON i.classid = 'pg_proc'::regclass AND p.oid = i.objid AND p.proconfig IS NOT NULL
  JOIN pg_roles o ON o.oid = p.proowner AND NOT o.rolsuper
 CROSS JOIN LATERAL pg_identify_object('pg_class'::regclass, i.index, 0) AS w
 CROSS JOIN LATERAL pg_identify_object(i.classid, i.objid, 0) AS f
