-- A statement that gives the statements by which the sequences of a schema ($1)
-- come to their end where they stand: nextval has nothing more to give there.
-- A sequence ends at its bound, and needs another number below it.
SELECT string_agg(
           format('SELECT s.statement FROM %1$s AS q, %2$s AS at (z), LATERAL (VALUES (1, pg_catalog.format(%3$L, z, %4$s)), (2, pg_catalog.format(%5$L, z))) AS s (step, statement)',
                  name,
                  CASE WHEN up THEN format('LATERAL (VALUES (greatest(q.last_value, %s + 1)))', lowest)
                       ELSE format('LATERAL (VALUES (least(q.last_value, %s - 1)))', highest) END,
                  CASE WHEN up THEN format('ALTER SEQUENCE %s NO CYCLE MAXVALUE %%1$s MINVALUE %%2$s START WITH %%1$s', replace(name, '%', '%%'))
                       ELSE format('ALTER SEQUENCE %s NO CYCLE MINVALUE %%1$s MAXVALUE %%2$s START WITH %%1$s', replace(name, '%', '%%')) END,
                  CASE WHEN up THEN format('least(%s, z - 1)', seqmin) ELSE format('greatest(%s, z + 1)', seqmax) END,
                  format('SELECT pg_catalog.setval(%L, %%s, true)', replace(name, '%', '%%'))),
           ' UNION ALL ' ORDER BY name) AS statement
  FROM (SELECT format('%I.%I', n.nspname, c.relname) AS name, q.seqincrement > 0 AS up, q.seqmin, q.seqmax,
               CASE q.seqtypid WHEN 'smallint'::regtype THEN '(-32768)' WHEN 'integer'::regtype THEN '(-2147483648)'
                    ELSE '(-9223372036854775808)' END AS lowest,
               CASE q.seqtypid WHEN 'smallint'::regtype THEN 32767 WHEN 'integer'::regtype THEN 2147483647
                    ELSE 9223372036854775807 END AS highest
          FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_sequence q ON q.seqrelid = c.oid
         WHERE n.nspname = $1) AS member
HAVING count(*) > 0
