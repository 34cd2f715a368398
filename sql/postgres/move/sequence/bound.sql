-- Statements that give the sequences of a schema ($1) the type and bounds that were noted of them ($2,
-- move/sequence/rules.sql), which is only data, whoever has written it.
SELECT format('ALTER SEQUENCE %I.%I AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s %s',
              n.nspname, c.relname, q.type::regtype, q.increment, q.min, q.max, q.start, q.cache,
              CASE WHEN q.cycle THEN 'CYCLE' ELSE 'NO CYCLE' END) AS statement
  FROM jsonb_to_recordset($2::jsonb)
            AS q(name text, at text, type text, increment bigint, min bigint, max bigint, start bigint, cache bigint, cycle boolean)
  JOIN pg_namespace n ON n.nspname = $1
  -- By its number, where this is the database that it was noted in: it may have another name by now.
 CROSS JOIN LATERAL (SELECT format('%s/%s/', (SELECT system_identifier FROM pg_control_system()), (SELECT oid FROM pg_database WHERE datname = current_database())) AS numbers) here
  JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'S'
   AND CASE WHEN starts_with(q.at, here.numbers) THEN here.numbers || c.oid = q.at ELSE c.relname = q.name END
 ORDER BY q.name
