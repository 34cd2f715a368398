-- Statements that give the sequences of a schema ($1) the type and bounds that were noted of them ($2,
-- move/sequence/rules.sql), which is only data, whoever has written it.
SELECT format('ALTER SEQUENCE %I.%I AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s %s',
              n.nspname, c.relname, q.type::regtype, q.increment, q.min, q.max, q.start, q.cache,
              CASE WHEN q.cycle THEN 'CYCLE' ELSE 'NO CYCLE' END) AS statement
  FROM jsonb_to_recordset($2::jsonb)
            AS q(name text, type text, increment bigint, min bigint, max bigint, start bigint, cache bigint, cycle boolean)
  JOIN pg_namespace n ON n.nspname = $1
  JOIN pg_class c ON c.relname = q.name AND c.relnamespace = n.oid AND c.relkind = 'S'
 ORDER BY q.name
