-- What the nodes were that shards were to be opened on which this one has closed, when they had all rows: it is
-- noted with what the shard is published by (move/fence/guard.sql).
SELECT s.shard,
       substring(note FROM '"server": (-?[0-9]{1,19})')::bigint AS system_identifier,
       substring(note FROM '"timeline": ([0-9]{1,10})')::bigint AS timeline,
       substring(note FROM '"database": ([0-9]{1,10})')::bigint AS database,
       substring(note FROM '"position": ([0-9]{1,19})')::bigint AS position
  FROM shardid.shard s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_publication_namespace n ON n.pnnspid = c.relnamespace
  JOIN pg_publication p ON p.oid = n.pnpubid
 CROSS JOIN LATERAL obj_description(p.oid, 'pg_publication') AS d(note)
 WHERE s.state = 'moved' AND p.pubname ~ '^shardid_(move|back)_[0-9]+$'
   AND note ~ '^{"server": -?[0-9]+, "database": [0-9]+, "position": [0-9]+, "timeline": [0-9]+, '
