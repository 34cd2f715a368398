-- The parts in which the tables of a schema ($1) are copied, of $2 blocks each, the largest tables first: how one is read and
-- how it is written, and its bytes. The last part of a table has no end. Binary where both servers are of one major version
-- ($3) and a value of each column is sent as what it is: not by a number that another server has for something else, as of
-- a table or of a type that somebody has made, and not as a text that says in which encoding it is sent, as xml. A table
-- that keeps no column has rows all the same. The size of a table waits for who has locked it: it is asked of no other one,
-- and once, so that a table has its end wherever it grows meanwhile.
WITH own AS MATERIALIZED (
    SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relkind = 'r'
), sized AS MATERIALIZED (
    SELECT oid, name, pg_relation_size(oid) AS bytes, current_setting('block_size')::bigint AS block_size FROM own
), part AS (
    SELECT s.oid, s.name, s.bytes, s.block_size, first.block, first.block + $2::bigint AS next,
           first.block + $2::bigint >= s.bytes / s.block_size AS is_last
      FROM sized s
     CROSS JOIN LATERAL generate_series(0, s.bytes / s.block_size - 1, $2::bigint) AS first(block)
     WHERE s.bytes > 0
), kept AS (
    SELECT a.attrelid AS oid, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns,
           bool_and($3::boolean AND (t.typtype = 'e'
               OR t.oid < 16384 AND t.typtype IN ('b', 'r', 'm') AND t.typsend <> 0 AND t.typreceive <> 0 AND t.oid <> 'xml'::regtype
                  AND coalesce(e.oid < 16384 AND e.typtype IN ('b', 'r', 'm') AND e.typsend <> 0 AND e.oid <> 'xml'::regtype, true)
                  -- Those are numbers of objects.
                  AND NOT EXISTS (SELECT FROM pg_cast x WHERE x.castsource = 'oid'::regtype AND x.casttarget IN (t.oid, e.oid)
                                     AND x.castmethod = 'b' AND x.castcontext = 'i'))) AS is_binary
      FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typelem <> 0
     WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     GROUP BY a.attrelid
)
SELECT p.name,
       format('COPY (SELECT %s FROM ONLY %s%s) TO STDOUT (FORMAT %s, ENCODING %L)', k.columns, p.name,
              CASE WHEN p.block = 0 AND p.is_last THEN ''
                   WHEN p.is_last THEN format(' WHERE ctid >= ''(%s,0)''', p.block)
                   ELSE format(' WHERE ctid >= ''(%s,0)'' AND ctid < ''(%s,0)''', p.block, p.next) END,
              f.format, current_setting('server_encoding')) AS read,
       format('COPY %s%s FROM STDIN (FORMAT %s, ENCODING %L)', p.name, coalesce(' (' || k.columns || ')', ''), f.format, current_setting('server_encoding')) AS write,
       CASE WHEN p.is_last THEN greatest(p.bytes - p.block * p.block_size, 0) ELSE $2::bigint * p.block_size END::bigint AS bytes
  FROM part p
  LEFT JOIN kept k ON k.oid = p.oid
 CROSS JOIN LATERAL (SELECT CASE WHEN k.is_binary THEN 'binary' ELSE 'text' END AS format) AS f
 ORDER BY p.bytes DESC, p.oid, p.block
