-- Where the generators of a schema ($1) stand, as statements for the other copy.
-- Read by number: a name may be that of a view by now, whose functions would run here with
-- our rights, and whose text there. MATERIALIZED: the planner may call the function before it looks at the other conditions.
-- They ($2) go on above the last ids ($3, of layouts $4) of the shard ($5) that they can
-- have given out, wherever they were put, and no further ahead than that. Nothing of other sequences:
-- the other copy gives numbers, and they are not to be put back.
WITH member AS MATERIALIZED (
    SELECT c.oid, c.relname, format('%I.%I', n.nspname, c.relname) AS name, given.last, given.layout
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN unnest($2::oid[], $3::bigint[], $4::text[]) AS given (sequence, last, layout) ON given.sequence = c.oid
     WHERE n.nspname = $1 AND c.relkind = 'S'
)
SELECT format('SELECT shardid.carry_generator(%L, %s, %s, %L)', m.name, $5::integer, greatest(m.last, s.last_value), m.layout) AS statement
  FROM member m
 CROSS JOIN LATERAL shardid.read_sequence(m.oid) s
 ORDER BY m.relname
