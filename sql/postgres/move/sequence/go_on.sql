-- Has the sequence ($3) of a shard ($1) in a schema ($2) go on above all that it can have given out, as far
-- as that can be known here; $4 is its layout. No row where there is no such sequence.
-- The horizon is read when the statement runs: it may be raised right before.
-- CASE: the planner may call the function before it looks at the other conditions.
SELECT format('SELECT shardid.carry_generator(%L, %s, greatest(%s, shardid.last_id_at_most(NULL::regclass, %s, %L)), %L)',
              format('%I.%I', n.nspname, c.relname), $1::integer, s.last_value, $1::integer, $4::text, $4::text) AS statement
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
 CROSS JOIN LATERAL shardid.read_sequence(CASE c.relkind WHEN 'S' THEN c.oid END) s
 WHERE n.nspname = $2 AND c.relname = $3 AND c.relkind = 'S'
