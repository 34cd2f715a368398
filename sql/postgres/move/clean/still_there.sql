-- Which objects ($1 catalogs, $2 numbers) are there for everybody else: what a transaction has
-- dropped and not committed is, what others have dropped meanwhile is not. A part of one of them,
-- as a view's rule and type are, is not named beside it.
WITH gone AS (
    SELECT classid::oid AS classid, objid::oid AS objid FROM unnest($1::bigint[], $2::bigint[]) AS g (classid, objid)
)
SELECT pg_describe_object(g.classid, g.objid, 0) AS name
  FROM gone g
 WHERE EXISTS (SELECT FROM pg_depend d WHERE d.classid = g.classid AND d.objid = g.objid)
   AND NOT EXISTS (
       SELECT FROM pg_depend d JOIN gone o ON o.classid = d.refclassid AND o.objid = d.refobjid
        WHERE d.classid = g.classid AND d.objid = g.objid AND d.deptype = 'i')
 ORDER BY 1
