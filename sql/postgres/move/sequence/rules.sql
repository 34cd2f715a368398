-- Statements that give another copy's sequences the type and bounds that they have in this
-- schema ($1): those of a copy are closed.
SELECT format('ALTER SEQUENCE %I.%I AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s %s',
              n.nspname, c.relname, format_type(q.seqtypid, NULL), q.seqincrement, q.seqmin, q.seqmax, q.seqstart, q.seqcache,
              CASE WHEN q.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END) AS statement
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_sequence q ON q.seqrelid = c.oid
 WHERE n.nspname = $1
 ORDER BY c.relname
