-- What should have stayed and is there no more, for this transaction.
SELECT classid::bigint AS classid, objid::bigint AS objid
  FROM unnest(string_to_array(current_setting('shardid_clean.stays'), ',')) AS noted (text)
 CROSS JOIN LATERAL (SELECT split_part(noted.text, ' ', 1)::oid AS classid, split_part(noted.text, ' ', 2)::oid AS objid) AS s
 WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = s.classid AND d.objid = s.objid)
