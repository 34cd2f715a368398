-- Statements by which the sequences of a schema ($1) come to their end where they stand:
-- nextval has nothing more to give there. A sequence ends at its bound, and needs another
-- number below it. Read by number, as in positions.sql, and only what is found to be one: OFFSET keeps the planner from
-- calling the function before it has joined.
SELECT x.statement
  FROM (SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name, q.seqincrement > 0 AS up, q.seqmin, q.seqmax,
               CASE q.seqtypid WHEN 'smallint'::regtype THEN -32768 WHEN 'integer'::regtype THEN -2147483648
                    ELSE -9223372036854775808 END AS lowest,
               CASE q.seqtypid WHEN 'smallint'::regtype THEN 32767 WHEN 'integer'::regtype THEN 2147483647
                    ELSE 9223372036854775807 END AS highest
          FROM pg_class c
          JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_sequence q ON q.seqrelid = c.oid
         WHERE n.nspname = $1
        OFFSET 0) AS member
 CROSS JOIN LATERAL shardid.read_sequence(member.oid) s
 CROSS JOIN LATERAL (SELECT CASE WHEN up THEN greatest(s.last_value, lowest + 1) ELSE least(s.last_value, highest - 1) END) AS at (z)
 CROSS JOIN LATERAL (VALUES
           (1, CASE WHEN up THEN format('ALTER SEQUENCE %s NO CYCLE MAXVALUE %s MINVALUE %s START WITH %s', name, z, least(seqmin, z - 1), z)
                    ELSE format('ALTER SEQUENCE %s NO CYCLE MINVALUE %s MAXVALUE %s START WITH %s', name, z, greatest(seqmax, z + 1), z) END),
           (2, format('SELECT pg_catalog.setval(%L, %s, true)', name, z))) AS x (step, statement)
 ORDER BY member.name, x.step
