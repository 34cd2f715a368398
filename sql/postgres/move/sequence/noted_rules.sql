-- By what the sequences of a shard ($1) that was closed here were bound before, as noted then (move/fence/guard.sql).
SELECT note::jsonb ->> 'sequences' AS rules
  FROM shardid.shard s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_publication_namespace n ON n.pnnspid = c.relnamespace
  JOIN pg_publication p ON p.oid = n.pnpubid AND p.pubname ~ '^shardid_(move|back)_[0-9]+$'
 CROSS JOIN LATERAL obj_description(p.oid, 'pg_publication') AS d(note)
 WHERE s.shard = $1 AND s.state = 'moved'
   AND CASE WHEN note ~ '^{"server": -?[0-9]+, "database": ' THEN jsonb_typeof(note::jsonb -> 'sequences') = 'array' ELSE false END
