-- Where every sequence of a schema ($1) stands, as statements for the other copy.
-- Read by number: a name may be that of a view by now, whose functions would run here with
-- our rights, and whose text there. pg_sequences does not say where one stands that was
-- restarted and not used since. MATERIALIZED: the planner may call the function before it looks at the other conditions.
-- Generators ($2) of the shard ($5) go on above the last ids ($3, of layouts $4) that they can
-- have given out, wherever they were put, and no further ahead than that. Of no other sequence where
-- only these are asked for ($6): the other copy gives numbers, and they are not to be put back.
WITH given AS (
    SELECT * FROM unnest($2::oid[], $3::bigint[], $4::text[]) AS given (sequence, last, layout)
), member AS MATERIALIZED (
    SELECT c.oid, c.relname, format('%I.%I', n.nspname, c.relname) AS name
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relkind = 'S'
)
SELECT CASE WHEN g.last IS NULL THEN format('SELECT pg_catalog.setval(%L, %s, %L)', m.name, s.last_value, s.is_called)
            ELSE format('SELECT shardid.carry_generator(%L, %s, %s, %L)', m.name, $5::integer, greatest(g.last, s.last_value), g.layout)
       END AS statement
  FROM member m
 CROSS JOIN LATERAL shardid.read_sequence(m.oid) s
  LEFT JOIN given g ON g.sequence = m.oid
 WHERE g.last IS NOT NULL OR NOT $6::boolean
 ORDER BY m.relname
