-- Indexes of a schema ($1) on functions that no superuser owns and that have settings of their own: while a move makes the index
-- over rows, such a function is not called with them.
SELECT format('%s %s calls %s %s, which has settings of its own (SET)', w.type, w.identity, f.type, f.identity) AS problem,
       format('ALTER %s %s RESET ALL, where what it calls is named with its schema', upper(f.type), f.identity) AS hint
  FROM inside i
  JOIN pg_depend d ON d.classid = i.classid AND d.objid = i.objid AND d.refclassid = 'pg_proc'::regclass
  JOIN pg_proc p ON p.oid = d.refobjid AND p.proconfig IS NOT NULL
  JOIN pg_roles o ON o.oid = p.proowner AND NOT o.rolsuper
  JOIN pg_class c ON i.classid = 'pg_class'::regclass AND c.oid = i.objid AND c.relkind IN ('i', 'I')
 CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, 0) AS w
 CROSS JOIN LATERAL pg_identify_object(d.refclassid, d.refobjid, 0) AS f
