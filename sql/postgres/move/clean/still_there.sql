-- Which objects ($1 catalogs, $2 numbers) are there for everybody else: what a transaction has
-- dropped and not committed is, what others have dropped meanwhile is not.
SELECT pg_describe_object(g.classid::oid, g.objid::oid, 0) AS name
  FROM unnest($1::bigint[], $2::bigint[]) AS g (classid, objid)
 WHERE EXISTS (SELECT FROM pg_depend d WHERE d.classid = g.classid::oid AND d.objid = g.objid::oid)
 ORDER BY 1
