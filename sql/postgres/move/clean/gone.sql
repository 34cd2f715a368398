-- What should have stayed and has gone.
SELECT format('object %s of %s', objid, classid::regclass) AS name
  FROM pg_temp.shardid_stays s
 WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = s.classid AND d.objid = s.objid)
 ORDER BY 1 LIMIT 10
