-- Generators of a shard ($1) that are not in its schema ($2), and those of
-- others that are.
SELECT format('id sequence %s of shard %s is not in schema %I', s.sequence, $1::integer, $2::text) AS problem,
       format('ALTER SEQUENCE %s SET SCHEMA %I;', s.sequence, $2::text) AS hint
  FROM shardid.id_sequence s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE s.shard = $1 AND n.nspname <> $2
UNION ALL
SELECT format('id sequence %s belongs to shard %s', s.sequence, s.shard),
       format('ALTER SEQUENCE %s SET SCHEMA ...;', s.sequence)
  FROM shardid.id_sequence s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE s.shard <> $1 AND n.nspname = $2
UNION ALL
SELECT format('schema %I holds the sequence of shard %s too', $2::text, s.shard),
       'move a shard that has a schema of its own'
  FROM shardid.shard s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE s.shard <> $1 AND n.nspname = $2
UNION ALL
-- Whoever may write to that table may have it name anything.
SELECT format('relation %s is no generator of shard %s, as shardid.shard has it', s.sequence, s.shard),
       format('UPDATE shardid.shard SET sequence = ... WHERE shard = %s; there has to name the sequence that create_shard made', s.shard)
  FROM shardid.shard s
 WHERE s.shard = $1 AND s.state = 'open' AND NOT shardid.is_generator(s.sequence::regclass, s.shard, s.layout)
