-- Has the sequence ($3) of a shard ($1) in a schema ($2) go on above all that it can have given out, as far
-- as that can be known here; $4 is its layout. No row where there is no such sequence.
-- Where it stands, and the horizon, are read when the statement runs: both may be raised right before. It is read by number, and
-- was looked up as a sequence.
SELECT format('SELECT shardid.carry_generator(%L, %s, greatest((SELECT last_value FROM shardid.read_sequence(%s)), shardid.last_id_at_most(NULL::regclass, %s, %L)), %L)',
              format('%I.%I', n.nspname, c.relname), $1::integer, c.oid, $1::integer, $4::text, $4::text) AS statement
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $2 AND c.relname = $3 AND c.relkind = 'S'
