-- What has to be immutable in a schema ($1) and calls a function that is not declared so. PostgreSQL takes that where it can
-- look into a function in SQL; while a move makes it nobody's function is looked into.
SELECT format('%s %s calls %s %s, which is not IMMUTABLE', w.type, w.identity, f.type, f.identity) AS problem,
       format('ALTER %s %s IMMUTABLE; where it is: what it is called for may not change with time in any case', upper(f.type), f.identity) AS hint
  FROM inside i
  JOIN pg_depend d ON d.classid = i.classid AND d.objid = i.objid AND d.refclassid = 'pg_proc'::regclass
  JOIN pg_proc p ON p.oid = d.refobjid AND p.provolatile <> 'i'
  LEFT JOIN pg_class c ON i.classid = 'pg_class'::regclass AND c.oid = i.objid
  LEFT JOIN pg_attrdef a ON i.classid = 'pg_attrdef'::regclass AND a.oid = i.objid
  LEFT JOIN pg_attribute g ON g.attrelid = a.adrelid AND g.attnum = a.adnum
 CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, 0) AS w
 CROSS JOIN LATERAL pg_identify_object(d.refclassid, d.refobjid, 0) AS f
 -- An index, what a table is partitioned by, a generated column.
 WHERE c.relkind IN ('i', 'I', 'p') OR g.attgenerated <> ''
