-- Which functions and operators that somebody has made the definitions in a schema ($1) are bound to: what it is, and
-- what it calls. Those of extensions come with these. Not pg_describe_object(), whose words depend on a server's language.
SELECT DISTINCT w.type || ' ' || w.identity AS what, f.type || ' ' || f.identity AS calls
  FROM inside i
  JOIN pg_depend d ON d.classid = i.classid AND d.objid = i.objid AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
 CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, 0) AS w
 CROSS JOIN LATERAL pg_identify_object(d.refclassid, d.refobjid, 0) AS f
 WHERE NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = d.refclassid AND e.objid = d.refobjid AND e.deptype = 'e')
   AND w.identity IS NOT NULL AND f.identity IS NOT NULL
