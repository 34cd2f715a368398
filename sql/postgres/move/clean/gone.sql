-- What should have stayed and is there no more, for this transaction.
SELECT classid::bigint AS classid, objid::bigint AS objid
  FROM pg_temp.shardid_stays s
 WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = s.classid AND d.objid = s.objid)
