-- By what the sequences of this schema ($1) are bound, as data, with the number of each, on which server and in which database: those of a copy are closed, and are bound by it when it
-- is opened (move/sequence/bound.sql).
SELECT coalesce(jsonb_agg(jsonb_build_object(
           'name', c.relname, 'at', format('%s/%s/%s', (SELECT system_identifier FROM pg_control_system()), (SELECT oid FROM pg_database WHERE datname = current_database()), c.oid), 'type', q.seqtypid::regtype::text, 'increment', q.seqincrement, 'min', q.seqmin, 'max', q.seqmax,
           'start', q.seqstart, 'cache', q.seqcache, 'cycle', q.seqcycle) ORDER BY c.relname), '[]')::text AS rules
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_sequence q ON q.seqrelid = c.oid
 WHERE n.nspname = $1
