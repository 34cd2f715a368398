-- Statements that give the sequences of a shard ($1) that was closed here the type and bounds that they had
-- before, as noted then (move/fence/guard.sql).
SELECT format('ALTER SEQUENCE %I.%I AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s %s',
              m.nspname, q.name, q.type::regtype, q.increment, q.min, q.max, q.start, q.cache,
              CASE WHEN q.cycle THEN 'CYCLE' ELSE 'NO CYCLE' END) AS statement
  FROM shardid.shard s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_namespace m ON m.oid = c.relnamespace
  JOIN pg_publication_namespace n ON n.pnnspid = m.oid
  JOIN pg_publication p ON p.oid = n.pnpubid AND p.pubname ~ '^shardid_(move|back)_[0-9]+$'
 CROSS JOIN LATERAL obj_description(p.oid, 'pg_publication') AS d(note)
 CROSS JOIN LATERAL jsonb_to_recordset(CASE WHEN note ~ '^{"server": -?[0-9]+, "database": ' THEN note::jsonb -> 'sequences' ELSE '[]' END)
            AS q(name text, type text, increment bigint, min bigint, max bigint, start bigint, cache bigint, cycle boolean)
  JOIN pg_class o ON o.relname = q.name AND o.relnamespace = m.oid AND o.relkind = 'S'
 WHERE s.shard = $1 AND s.state = 'moved'
 ORDER BY q.name
