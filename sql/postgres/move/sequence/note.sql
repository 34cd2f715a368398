-- How every sequence of a schema ($1) is bound and where it stands, for the other copy of a move ($5), which is at its
-- end until it is opened. Of what is closed here, the bounds are those that were noted when it was (move/fence/guard.sql).
-- Read by number: a name may be that of a view by now, whose functions would run here with
-- our rights. pg_sequences does not say where one stands that was
-- restarted and not used since. MATERIALIZED: the planner may call the function before it looks at the other conditions.
-- Generators ($2) go on above the last ids ($3, of layouts $4) that they can
-- have given out, wherever they were put, and no further ahead than that.
WITH given AS (
    SELECT * FROM unnest($2::oid[], $3::bigint[], $4::text[]) AS given (sequence, last, layout)
), member AS MATERIALIZED (
    SELECT c.oid, c.relname, q.seqtypid::regtype::text AS type, q.seqincrement, q.seqmin, q.seqmax, q.seqstart, q.seqcache, q.seqcycle
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_sequence q ON q.seqrelid = c.oid
     WHERE n.nspname = $1 AND c.relkind = 'S'
), closed AS (
    SELECT q.*
      FROM shardid.shard s
      JOIN pg_class c ON c.oid = s.sequence
      JOIN pg_namespace m ON m.oid = c.relnamespace AND m.nspname = $1
      JOIN pg_publication_namespace n ON n.pnnspid = m.oid
      JOIN pg_publication p ON p.oid = n.pnpubid AND p.pubname ~ '^shardid_(move|back)_[0-9]+$'
     CROSS JOIN LATERAL obj_description(p.oid, 'pg_publication') AS d(note)
     CROSS JOIN LATERAL jsonb_to_recordset(CASE WHEN note ~ '^{"server": -?[0-9]+, "database": ' THEN note::jsonb -> 'sequences' ELSE '[]' END)
                AS q(name text, at text, type text, increment bigint, min bigint, max bigint, start bigint, cache bigint, cycle boolean)
     WHERE s.state = 'moved'
)
SELECT jsonb_build_object('move', $5::bigint, 'sequences', coalesce(jsonb_agg(jsonb_build_object(
           'of', m.oid::bigint, 'name', m.relname, 'type', coalesce(q.type, m.type), 'increment', coalesce(q.increment, m.seqincrement),
           'min', coalesce(q.min, m.seqmin), 'max', coalesce(q.max, m.seqmax), 'start', coalesce(q.start, m.seqstart),
           'cache', coalesce(q.cache, m.seqcache), 'cycle', coalesce(q.cycle, m.seqcycle),
           'last', greatest(s.last_value, g.last), 'called', s.is_called, 'layout', g.layout) ORDER BY m.relname), '[]'))::text AS note
  FROM member m
 CROSS JOIN LATERAL shardid.read_sequence(m.oid) s
 CROSS JOIN (SELECT format('%s/%s/', (SELECT system_identifier FROM pg_control_system()), (SELECT oid FROM pg_database WHERE datname = current_database())) AS numbers) here
  LEFT JOIN closed q ON CASE WHEN starts_with(q.at, here.numbers) THEN here.numbers || m.oid = q.at ELSE q.name = m.relname END
  LEFT JOIN given g ON g.sequence = m.oid
