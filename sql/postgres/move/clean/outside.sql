-- What would go with a schema and is none of it; no row where nothing would.
SELECT DISTINCT CASE WHEN o.classid = 'pg_rewrite'::regclass
                          AND EXISTS (SELECT FROM pg_rewrite r WHERE r.oid = o.objid AND r.ev_type = '1')
                     THEN (SELECT pg_describe_object('pg_class'::regclass, r.ev_class, 0) FROM pg_rewrite r WHERE r.oid = o.objid)
                     ELSE pg_describe_object(o.classid, o.objid, o.objsubid) END AS name
  FROM outside o
 ORDER BY 1
