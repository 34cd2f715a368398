-- What a schema holds that a move does not carry, or that would go wrong on the
-- other node while it follows.
SELECT CASE
           WHEN c.relkind = 'f' THEN format('%I.%I is a foreign table', n.nspname, c.relname)
           WHEN c.relkind = 'm' THEN format('%I.%I is a materialized view, whose rows are not carried', n.nspname, c.relname)
           ELSE format('%I.%I is unlogged, and its rows are not carried', n.nspname, c.relname)
       END AS problem,
       CASE
           WHEN c.relkind = 'f' THEN format('DROP FOREIGN TABLE %I.%I; and make it anew on the other node', n.nspname, c.relname)
           WHEN c.relkind = 'm' THEN format('DROP MATERIALIZED VIEW %I.%I; and make it anew on the other node', n.nspname, c.relname)
           ELSE format('ALTER TABLE %I.%I SET LOGGED;', n.nspname, c.relname)
       END AS hint
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND (c.relkind IN ('f', 'm') OR (c.relkind IN ('r', 'p') AND c.relpersistence = 'u'))
UNION ALL
SELECT format('trigger %I of %I.%I fires on replicated rows too, and would fire twice', t.tgname, n.nspname, c.relname),
       format('ALTER TABLE %I.%I ENABLE TRIGGER %I; or drop it until the move is over', n.nspname, c.relname, t.tgname)
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND NOT t.tgisinternal AND t.tgfoid IS DISTINCT FROM to_regprocedure('shardid.refuse_write()') AND t.tgenabled IN ('A', 'R')
UNION ALL
SELECT format('column %I of %I.%I is of type %s, by which no row can be found', a.attname, n.nspname, c.relname, format_type(a.atttypid, NULL)),
       format('ALTER TABLE %1$I.%2$I ADD PRIMARY KEY (...); and ALTER TABLE %1$I.%2$I REPLICA IDENTITY DEFAULT;', n.nspname, c.relname)
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relreplident = 'f' AND a.attnum > 0 AND NOT a.attisdropped
   AND a.attgenerated = ''
   -- What it is made of in the end has nothing to be compared by.
   AND EXISTS (
       WITH RECURSIVE part (type) AS (
           SELECT a.atttypid
           UNION
           SELECT x.type FROM part p JOIN pg_type t ON t.oid = p.type
           CROSS JOIN LATERAL (
               SELECT t.typbasetype WHERE t.typtype = 'd'
               UNION ALL SELECT t.typelem WHERE t.typcategory = 'A'
               UNION ALL SELECT f.atttypid FROM pg_attribute f WHERE t.typtype = 'c' AND f.attrelid = t.typrelid AND f.attnum > 0 AND NOT f.attisdropped) AS x(type)
       )
       SELECT FROM part p JOIN pg_type t ON t.oid = p.type
        WHERE t.typtype = 'b' AND t.typcategory <> 'A'
          AND NOT EXISTS (
              SELECT FROM pg_opclass o JOIN pg_am m ON m.oid = o.opcmethod AND m.amname IN ('btree', 'hash')
               WHERE o.opcdefault AND (o.opcintype = t.oid
                   OR EXISTS (SELECT FROM pg_cast k WHERE k.castsource = t.oid AND k.casttarget = o.opcintype AND k.castmethod = 'b'))))
UNION ALL
SELECT format('%s is not carried', pg_describe_object('pg_cast'::regclass, k.oid, 0)),
       format('DROP CAST (%s AS %s);', format_type(k.castsource, NULL), format_type(k.casttarget, NULL))
  FROM pg_cast k
  JOIN pg_type s ON s.oid = k.castsource JOIN pg_type t ON t.oid = k.casttarget
 WHERE (SELECT oid FROM pg_namespace WHERE nspname = $1) IN (s.typnamespace, t.typnamespace)
   -- The casts that come with a range type are made with it.
   AND NOT EXISTS (SELECT FROM pg_depend d
                    WHERE d.classid = 'pg_cast'::regclass AND d.objid = k.oid AND d.deptype IN ('i', 'e'))
