-- How a session finds the operators that definitions in a schema ($1) call and no text names, as in CASE x WHEN, USING, NULLIF,
-- IS DISTINCT FROM: by the schemas of all operators that they call and that are not PostgreSQL's.
SELECT format('SET LOCAL search_path = %s', string_agg(DISTINCT quote_ident(n.nspname), ', '))
  FROM inside i
  JOIN pg_depend d ON d.classid = i.classid AND d.objid = i.objid AND d.refclassid = 'pg_operator'::regclass
  JOIN pg_operator o ON o.oid = d.refobjid
  JOIN pg_namespace n ON n.oid = o.oprnamespace
 WHERE n.nspname <> 'pg_catalog'
HAVING count(*) > 0
