-- Statements by which the sequences of a new copy of a schema ($1) are at their end from the beginning, as those of an old
-- copy are: they begin where this server's are made to begin, and nextval has nothing to give there until it is
-- known where they stand. In the transaction that makes them.
SELECT x.statement
  FROM (SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name, q.seqincrement > 0 AS up, q.seqmin, q.seqmax,
               CASE WHEN q.seqincrement > 0
                    THEN greatest(q.seqstart, CASE q.seqtypid WHEN 'smallint'::regtype THEN -32767 WHEN 'integer'::regtype THEN -2147483647
                                                   ELSE -9223372036854775807 END)
                    ELSE least(q.seqstart, CASE q.seqtypid WHEN 'smallint'::regtype THEN 32766 WHEN 'integer'::regtype THEN 2147483646
                                                ELSE 9223372036854775806 END) END AS z
          FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_sequence q ON q.seqrelid = c.oid
         WHERE n.nspname = $1) AS member
 CROSS JOIN LATERAL (VALUES
           (1, CASE WHEN up THEN format('ALTER SEQUENCE %s NO CYCLE MAXVALUE %s MINVALUE %s START WITH %s', name, z, least(seqmin, z - 1), z)
                    ELSE format('ALTER SEQUENCE %s NO CYCLE MINVALUE %s MAXVALUE %s START WITH %s', name, z, greatest(seqmax, z + 1), z) END),
           (2, format('SELECT pg_catalog.setval(%L, %s, true)', name, z))) AS x (step, statement)
 ORDER BY member.name, x.step
