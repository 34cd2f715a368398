-- Statements by which the sequences of a schema ($2) go on, in the transaction that opens the shard ($3), as noted with the
-- subscription ($1) that has filled it for a move ($4; 0 where nobody knows its number). No row where nothing is: an
-- earlier program has brought them there behind the fence. One that is closed may stand outside of the bounds that
-- it gets: it is brought to its number within those of its type, and what an unlogged one has after a crash is that number.
-- A generator has a new file by its bounds, and its past is noted in that afterwards. The copy's own is known by its number, where
-- this is the database that it was noted in. One that was made anew stands outside of the bounds that it gets, too.
WITH noted AS (
SELECT c.oid, of.sequence, x.step, x.statement
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
 CROSS JOIN LATERAL obj_description(s.oid, 'pg_subscription') AS noted (note)
 CROSS JOIN LATERAL jsonb_to_recordset(CASE WHEN note ~ format('^{"move": %s, "sequences": ', coalesce(nullif($4::bigint, 0)::text, '[0-9]+'))
                                            THEN note::jsonb -> 'sequences' ELSE '[]' END)
            AS q(name text, type text, increment bigint, min bigint, max bigint, start bigint, cache bigint, cycle boolean,
                 last bigint, called boolean, layout text, copy text)
  JOIN pg_namespace n ON n.nspname = $2
 CROSS JOIN LATERAL (SELECT format('%s/%s/', (SELECT system_identifier FROM pg_control_system()), d.oid) AS numbers) here
  JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'S'
   AND CASE WHEN starts_with(q.copy, here.numbers) AND (q.layout IS NULL OR EXISTS (SELECT FROM pg_class o WHERE o.relnamespace = n.oid AND here.numbers || o.oid = q.copy))
            THEN here.numbers || c.oid = q.copy
            ELSE c.relname = q.name AND NOT EXISTS (SELECT FROM jsonb_to_recordset(note::jsonb -> 'sequences') AS o (name text, copy text)
                                                     WHERE o.copy = here.numbers || c.oid AND o.name <> q.name) END
 CROSS JOIN LATERAL format('%I.%I', n.nspname, c.relname) AS of (sequence)
 CROSS JOIN LATERAL (VALUES
           (1, CASE WHEN q.layout IS NULL OR here.numbers || c.oid <> q.copy
                    THEN format('ALTER SEQUENCE %s AS bigint INCREMENT BY 1 NO CYCLE CACHE 1 MINVALUE -9223372036854775808 MAXVALUE 9223372036854775807', sequence) END),
           (2, CASE WHEN q.layout IS NULL OR here.numbers || c.oid <> q.copy
                    THEN format('SELECT pg_catalog.setval(%L, %s, %L)', sequence, q.last, q.called) END),
           (3, format('ALTER SEQUENCE %s AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s %s',
                      sequence, q.type::regtype, q.increment, q.min, q.max, q.start, q.cache,
                      CASE WHEN q.cycle THEN 'CYCLE' ELSE 'NO CYCLE' END)),
           (4, CASE WHEN q.layout IS NOT NULL
                    THEN format('SELECT shardid.carry_generator(%L, %s, %s, %L)', sequence, $3::integer, q.last, q.layout) END)
       ) AS x (step, statement)
 WHERE s.subname = $1 AND x.statement IS NOT NULL
)
SELECT statement FROM (
    SELECT false AS is_last, sequence, step, statement FROM noted
    UNION ALL
    -- Each statement waits for who is at work on a sequence, and then finds it by its name, which may have become that of another. Now
    -- that all are held, they are those that were meant: if not, it is as if somebody held them still.
    SELECT true, '', 0, format($check$DO $body$
BEGIN
    IF EXISTS (SELECT FROM unnest(%L::text[], %L::oid[]) AS meant (name, oid) WHERE to_regclass(meant.name)::oid IS DISTINCT FROM meant.oid) THEN
        RAISE EXCEPTION 'sequences were given other names meanwhile' USING ERRCODE = '55P03';
    END IF;
END $body$$check$, array_agg(DISTINCT sequence ORDER BY sequence), array_agg(oid ORDER BY sequence) FILTER (WHERE step = 3))
      FROM noted HAVING count(*) > 0
) AS x
 ORDER BY is_last, sequence, step
