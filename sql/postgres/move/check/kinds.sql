-- What a schema holds that a move does not carry, or that would go wrong on the
-- other node while it follows.
SELECT CASE
           WHEN c.relkind = 'f' THEN format('%I.%I is a foreign table', n.nspname, c.relname)
           WHEN c.relkind = 'm' THEN format('%I.%I is a materialized view, whose rows are not carried', n.nspname, c.relname)
           WHEN c.relkind = 'S' THEN format('sequence %I.%I is unlogged, and gives numbers again after a crash', n.nspname, c.relname)
           ELSE format('%I.%I is unlogged, and its rows are not carried', n.nspname, c.relname)
       END AS problem,
       CASE
           WHEN c.relkind = 'f' THEN format('DROP FOREIGN TABLE %I.%I; and make it anew on the other node', n.nspname, c.relname)
           WHEN c.relkind = 'm' THEN format('DROP MATERIALIZED VIEW %I.%I; and make it anew on the other node', n.nspname, c.relname)
           WHEN c.relkind = 'S' THEN format('ALTER SEQUENCE %I.%I SET LOGGED;', n.nspname, c.relname)
           ELSE format('ALTER TABLE %I.%I SET LOGGED;', n.nspname, c.relname)
       END AS hint
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND (c.relkind IN ('f', 'm') OR (c.relkind IN ('r', 'p', 'S') AND c.relpersistence = 'u'))
UNION ALL
SELECT format('trigger %I of %I.%I fires on replicated rows too, and would fire twice', t.tgname, n.nspname, c.relname),
       format('ALTER TABLE %I.%I ENABLE TRIGGER %I; or drop it until the move is over', n.nspname, c.relname, t.tgname)
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND NOT t.tgisinternal AND t.tgfoid IS DISTINCT FROM to_regprocedure('shardid.refuse_write()') AND t.tgenabled IN ('A', 'R')
UNION ALL
SELECT format('trigger %I of %I.%I has the name that a move gives to its own', t.tgname, n.nspname, c.relname),
       format('ALTER TRIGGER %I ON %I.%I RENAME TO ...;', t.tgname, n.nspname, c.relname)
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND t.tgname IN ('shardid_fence', 'shardid_fence_rows') AND t.tgfoid IS DISTINCT FROM to_regprocedure('shardid.refuse_write()')
UNION ALL
-- Rows are found by all their columns. What a type is made of in the end may have nothing to be compared
-- by, or equal values that are not the same, as 1.0 and 1.00: one row would be taken for another. The
-- server itself says which types have none: their B-trees may keep one value for all that are equal.
SELECT format('column %I of %I.%I is of type %s, %s', a.attname, n.nspname, c.relname, format_type(a.atttypid, a.atttypmod),
              CASE WHEN found.has_nothing THEN 'by which no row can be found'
                   ELSE 'of which two values may be equal and not the same: by REPLICA IDENTITY FULL one row is taken for another' END),
       format('ALTER TABLE %1$I.%2$I ADD PRIMARY KEY (...); and ALTER TABLE %1$I.%2$I REPLICA IDENTITY DEFAULT;', n.nspname, c.relname)
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL (
      WITH RECURSIVE part (type, typmod, sorted) AS (
          SELECT a.atttypid, a.atttypmod, a.attcollation
          UNION
          SELECT x.type, x.typmod, x.sorted FROM part p JOIN pg_type t ON t.oid = p.type
          CROSS JOIN LATERAL (
              SELECT t.typbasetype, t.typtypmod, p.sorted WHERE t.typtype = 'd'
              UNION ALL SELECT t.typelem, p.typmod, p.sorted WHERE t.typcategory = 'A'
              UNION ALL SELECT r.rngsubtype, -1, r.rngcollation FROM pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
              UNION ALL SELECT f.atttypid, f.atttypmod, f.attcollation FROM pg_attribute f WHERE t.typtype = 'c' AND f.attrelid = t.typrelid AND f.attnum > 0 AND NOT f.attisdropped) AS x (type, typmod, sorted)
      ), compared AS (
          SELECT p.type, p.typmod, p.sorted, o.opcintype, e.amproc AS equal_image
            FROM part p JOIN pg_type t ON t.oid = p.type
            CROSS JOIN (SELECT oid AS btree FROM pg_am WHERE amname = 'btree') m
            LEFT JOIN pg_opclass o ON o.opcdefault AND o.opcmethod IN (SELECT oid FROM pg_am WHERE amname IN ('btree', 'hash'))
             AND (o.opcintype = t.oid
                  OR NOT EXISTS (SELECT FROM pg_opclass own WHERE own.opcdefault AND own.opcmethod = o.opcmethod AND own.opcintype = t.oid)
                     AND EXISTS (SELECT FROM pg_cast k WHERE k.castsource = t.oid AND k.casttarget = o.opcintype AND k.castmethod = 'b'))
            LEFT JOIN pg_amproc e ON e.amprocfamily = o.opcfamily AND e.amproclefttype = o.opcintype AND e.amprocrighttype = o.opcintype
             AND e.amprocnum = 4 AND o.opcmethod = m.btree
           WHERE t.typtype = 'b' AND t.typcategory <> 'A'
      ), leaf AS (
          SELECT type, bool_and(opcintype IS NULL) AS has_nothing,
                 -- What is rounded to a scale has that scale.
                 coalesce(bool_or(type = 'numeric'::regtype AND typmod >= 0
                     OR equal_image = 'btequalimage'::regproc
                     OR equal_image = 'btvarstrequalimage'::regproc
                        AND (sorted = 0 OR (SELECT l.collisdeterministic FROM pg_collation l WHERE l.oid = sorted))), false) AS is_same
            FROM compared GROUP BY type, typmod, sorted
      )
      SELECT bool_or(l.has_nothing) AS has_nothing FROM leaf l WHERE l.has_nothing OR NOT l.is_same
  ) AS found
 WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relreplident = 'f' AND a.attnum > 0 AND NOT a.attisdropped
   AND a.attgenerated = '' AND found.has_nothing IS NOT NULL
UNION ALL
SELECT format('%s is not carried', pg_describe_object('pg_cast'::regclass, k.oid, 0)),
       format('DROP CAST (%s AS %s);', format_type(k.castsource, NULL), format_type(k.casttarget, NULL))
  FROM pg_cast k
  JOIN pg_type s ON s.oid = k.castsource JOIN pg_type t ON t.oid = k.casttarget
 WHERE (SELECT oid FROM pg_namespace WHERE nspname = $1) IN (s.typnamespace, t.typnamespace)
   -- The casts that come with a range type are made with it.
   AND NOT EXISTS (SELECT FROM pg_depend d
                    WHERE d.classid = 'pg_cast'::regclass AND d.objid = k.oid AND d.deptype IN ('i', 'e'))
UNION ALL
-- What a server makes by itself with something else, pg_dump does not write, nor who may use it.
SELECT format('the privileges of %s are not carried', pg_describe_object('pg_type'::regclass, t.oid, 0)),
       format('set them back to what a new one has: GRANT ALL ON TYPE %s TO PUBLIC, %I;', t.oid::regtype, pg_get_userbyid(t.typowner))
       || coalesce((SELECT string_agg(DISTINCT format(' REVOKE ALL ON TYPE %s FROM %I CASCADE;', t.oid::regtype, pg_get_userbyid(a.grantee)), '')
                      FROM aclexplode(t.typacl) a WHERE a.grantee NOT IN (0, t.typowner)), '')
  FROM pg_type t
 WHERE t.typnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
   AND (t.typtype = 'm' OR EXISTS (SELECT FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind <> 'c'))
   AND ARRAY(SELECT a::text FROM aclexplode(t.typacl) a ORDER BY 1) <> ARRAY(SELECT a::text FROM aclexplode(acldefault('T', t.typowner)) a ORDER BY 1)
   AND t.typacl IS NOT NULL
UNION ALL
-- A row is found by a hash of numbers that are others on another server.
SELECT format('%s is partitioned by HASH of a value of type %s, of which each server has hashes of its own', c.oid::regclass, found.type),
       'partition it by LIST or RANGE, or by a hash of its text'
  FROM pg_partitioned_table p JOIN pg_class c ON c.oid = p.partrelid JOIN pg_namespace n ON n.oid = c.relnamespace
 CROSS JOIN LATERAL (
      WITH RECURSIVE part (type) AS (
          SELECT a.atttypid FROM unnest(p.partattrs::smallint[]) AS k (attnum) JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND k.attnum > 0
          UNION
          -- Of an expression, as far as its operator class says.
          SELECT o.opcintype FROM unnest(p.partclass::oid[]) AS k (opclass) JOIN pg_opclass o ON o.oid = k.opclass
          UNION
          SELECT x.type FROM part q JOIN pg_type t ON t.oid = q.type
          CROSS JOIN LATERAL (
              SELECT t.typbasetype WHERE t.typtype = 'd'
              UNION ALL SELECT t.typelem WHERE t.typcategory = 'A'
              UNION ALL SELECT r.rngsubtype FROM pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
              UNION ALL SELECT f.atttypid FROM pg_attribute f WHERE t.typtype = 'c' AND f.attrelid = t.typrelid AND f.attnum > 0 AND NOT f.attisdropped) AS x (type)
      )
      SELECT t.oid::regtype AS type FROM part q JOIN pg_type t ON t.oid = q.type
       WHERE t.typtype = 'e' OR t.oid = 'anyenum'::regtype OR t.typnamespace = 'pg_catalog'::regnamespace AND t.typname ~ '^reg'
       ORDER BY t.oid DESC LIMIT 1
  ) AS found
 WHERE n.nspname = $1 AND p.partstrat = 'h'
UNION ALL
SELECT format('partition %s of %s is being detached', i.inhrelid::regclass, i.inhparent::regclass),
       format('ALTER TABLE %s DETACH PARTITION %s FINALIZE;', i.inhparent::regclass, i.inhrelid::regclass)
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND i.inhdetachpending
UNION ALL
-- Definitions are made with our rights, and what a domain checks is asked then: functions that somebody has written
-- run with others (shardid.on_behalf_of), those that are compiled with ours. One that does no more than look at its
-- arguments is immutable, and no other is called. A CHECK of a table is asked then only where it calls a function of the schema.
SELECT format('constraint %I of %s calls %s, with the rights of whoever makes its definition',
              k.conname, CASE WHEN k.contypid <> 0 THEN k.contypid::regtype::text ELSE k.conrelid::regclass::text END, f.oid::regprocedure),
       'make a function in SQL or PL/pgSQL that calls it, and have the constraint call that'
  FROM pg_constraint k
 CROSS JOIN LATERAL (SELECT DISTINCT call[1]::oid AS oid FROM regexp_matches(k.conbin::text, ':(?:op)?funcid (\d+)', 'g') AS call) AS called
  JOIN pg_proc f ON f.oid = called.oid AND f.provolatile <> 'i'
  JOIN pg_language g ON g.oid = f.prolang AND g.lanname IN ('internal', 'c')
 WHERE k.connamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
   AND (k.contypid <> 0 OR EXISTS (SELECT FROM pg_depend d JOIN pg_proc p ON p.oid = d.refobjid AND p.pronamespace = k.connamespace
                                    WHERE d.classid = 'pg_constraint'::regclass AND d.objid = k.oid AND d.refclassid = 'pg_proc'::regclass))
UNION ALL
-- The list of contents of a dump has a line for each.
SELECT format('%s has a line break in its name', pg_describe_object(o.classid, o.objid, 0)), 'rename it'
  FROM (WITH RECURSIVE member (classid, objid) AS (
            SELECT 'pg_namespace'::regclass::oid, oid FROM pg_namespace WHERE nspname = $1
            UNION
            SELECT d.classid, d.objid FROM member m JOIN pg_depend d ON d.refclassid = m.classid AND d.refobjid = m.objid
             WHERE d.deptype IN ('a', 'i') OR d.deptype = 'n' AND m.classid = 'pg_namespace'::regclass
        ) SELECT classid, objid FROM member) AS o
 WHERE pg_describe_object(o.classid, o.objid, 0) ~ '[\n\r]'
UNION ALL
-- So has what pg_dump says of a table or a function.
SELECT format('column %s of %s has a line break in its name', to_json(a.attname), a.attrelid::regclass), 'rename it'
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
 WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND a.attnum > 0 AND NOT a.attisdropped AND a.attname ~ '[\n\r]'
UNION ALL
SELECT format('parameter %s of function %s has a line break in its name', to_json(n.name), p.oid::regprocedure), 'rename it'
  FROM pg_proc p CROSS JOIN LATERAL unnest(p.proargnames) AS n (name)
 WHERE p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND n.name ~ '[\n\r]'
