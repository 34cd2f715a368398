-- What a move of a schema ($1) does not carry, and what works without it: all there is of that.
SELECT DISTINCT format('%s stays behind', replace(pg_describe_object(o.classid, o.objid, 0), '  ', ' ')) AS what
  FROM outside o
  LEFT JOIN pg_publication_rel r ON o.classid = 'pg_publication_rel'::regclass AND r.oid = o.objid
  LEFT JOIN pg_publication_namespace n ON o.classid = 'pg_publication_namespace'::regclass AND n.oid = o.objid
  JOIN pg_publication p ON p.oid IN (r.prpubid, n.pnpubid)
 WHERE p.pubname !~ '^shardid_(move|back)_[0-9]+$'
UNION
SELECT format('the security label of %s by %s stays behind', pg_describe_object(l.classoid, l.objoid, l.objsubid), l.provider)
  FROM pg_seclabel l JOIN inside i ON i.classid = l.classoid AND i.objid = l.objoid
 ORDER BY 1
