-- A query of all rows of this server's catalogs that say how the objects of a schema ($1) are defined: the object, the name that a
-- copy's has where the server has named it by itself, what it is for who reads it, the catalog, and the row, with names for all
-- numbers that are others on another server; $3: roles whose rights do not count. Comes after physical.sql and of_schema.sql. What is
-- missing in the lists below refuses a move, and loses nothing. How defaults, checks and the like read (pg_node_tree) pg_dump says.
, of_its_own (catalog, col, says) AS (VALUES
    -- Columns that were dropped are not copied, and those behind them have other numbers.
    ('pg_class', 'relnatts', NULL),
    -- Those of a table that inherits come behind its parents' columns, whenever they were made.
    ('pg_attribute', 'attnum', 'CASE WHEN NOT EXISTS (SELECT FROM pg_inherits o WHERE o.inhrelid = t.attrelid) THEN (SELECT count(*) FROM pg_attribute o WHERE o.attrelid = t.attrelid AND o.attnum BETWEEN 1 AND t.attnum AND NOT o.attisdropped) END'),
    ('pg_inherits', 'inhseqno', '(SELECT count(*) FROM pg_inherits o WHERE o.inhrelid = t.inhrelid AND o.inhseqno <= t.inhseqno)'),
    ('pg_constraint', 'confdelsetcols', 'ARRAY(SELECT o.attname FROM pg_attribute o WHERE o.attrelid = t.conrelid AND o.attnum = ANY (t.confdelsetcols) ORDER BY 1)'),
    ('pg_description', 'objsubid', 'pg_describe_object(t.classoid, t.objoid, t.objsubid)'),
    -- What its type says, which may be stored otherwise by another version.
    ('pg_attribute', 'attlen', NULL),
    ('pg_attribute', 'attbyval', NULL),
    ('pg_attribute', 'attalign', NULL),
    -- One that was copied from another is for all encodings, and the copy for that of its database.
    ('pg_collation', 'collencoding', NULL),
    -- How many dimensions an array was declared with nobody ever asks.
    ('pg_attribute', 'attndims', NULL),
    ('pg_type', 'typndims', NULL),
    -- A text for what is in a pg_node_tree.
    ('pg_type', 'typdefault', NULL),
    -- None was -1 before 17, and 0 of what no statistics are about.
    ('pg_attribute', 'attstattarget', 'CASE WHEN t.attnum > 0 THEN nullif(t.attstattarget, -1) END'),
    ('pg_statistic_ext', 'stxstattarget', 'nullif(t.stxstattarget, -1)'),
    -- How some builds of a server mark a column.
    ('pg_attribute', 'attoptions', 'ARRAY(SELECT o FROM unnest(t.attoptions) o WHERE o !~ ''^pg_attver='')'),
    -- Keys are never inherited, whatever this says of them.
    ('pg_constraint', 'connoinherit', 'CASE WHEN t.contype IN (''c'', ''n'') THEN t.connoinherit END'),
    -- Partitions and what they inherit are made by themselves, and attached.
    ('pg_attribute', 'attislocal', 'CASE WHEN NOT (SELECT o.relispartition FROM pg_class o WHERE o.oid = t.attrelid) THEN t.attislocal END'),
    ('pg_constraint', 'conislocal', 'CASE WHEN t.coninhcount = 0 THEN t.conislocal END'),
    ('pg_constraint', 'convalidated', 'CASE WHEN t.coninhcount = 0 THEN t.convalidated END'),
    -- Named by the server: by numbers, in the order in which partitions were made, or as a column was called when the index was made.
    ('pg_attribute', 'attname', 'CASE WHEN (SELECT o.relkind FROM pg_class o WHERE o.oid = t.attrelid) NOT IN (''i'', ''I'') THEN t.attname END'),
    ('pg_type', 'typname', 'CASE WHEN NOT EXISTS (SELECT FROM pg_type o WHERE o.typarray = t.oid) THEN t.typname END'),
    ('pg_trigger', 'tgname', 'CASE WHEN NOT t.tgisinternal THEN t.tgname END'),
    ('pg_constraint', 'conname', 'CASE WHEN t.conparentid = 0 AND t.contype <> ''t'' THEN t.conname END'),
    -- An enum's values may have been put between others.
    ('pg_enum', 'enumsortorder', '(SELECT count(*) FROM pg_enum o WHERE o.enumtypid = t.enumtypid AND o.enumsortorder < t.enumsortorder)'),
    -- The functions of a range type are the first superuser's, whoever makes it.
    ('pg_proc', 'proowner', 'CASE WHEN t.proowner <> 10 THEN t.proowner::regrole::text END'),
    -- What the server's own library is.
    ('pg_collation', 'collversion', NULL),
    -- Of a copy, sequences are at their end.
    ('pg_sequence', 'seqstart', NULL),
    ('pg_sequence', 'seqmin', NULL),
    ('pg_sequence', 'seqmax', NULL),
    ('pg_sequence', 'seqcycle', NULL)
), elsewhere (catalog) AS (VALUES
    -- Not carried, which is said before; of extensions.
    ('pg_publication_rel'), ('pg_publication_namespace'), ('pg_subscription_rel'), ('pg_seclabel'), ('pg_init_privs')
), name (class, says) AS (VALUES
    ('pg_type'::regclass::oid, '%s::oid::regtype::text'),
    ('pg_class'::regclass, '%s::oid::regclass::text'),
    ('pg_proc'::regclass, '%s::oid::regprocedure::text'),
    ('pg_operator'::regclass, '%s::oid::regoperator::text'),
    ('pg_namespace'::regclass, '%s::oid::regnamespace::text'),
    ('pg_authid'::regclass, '%s::oid::regrole::text'),
    ('pg_collation'::regclass, '%s::oid::regcollation::text')
), usual (catalog, acl) AS (VALUES
    ('pg_class', 'acldefault(CASE t.relkind WHEN ''S'' THEN ''s'' ELSE ''r'' END::"char", t.relowner)'),
    ('pg_proc', 'acldefault(''f'', t.proowner)'),
    ('pg_type', 'acldefault(''T'', t.typowner)'),
    ('pg_namespace', 'acldefault(''n'', t.nspowner)')
), refers AS (
    -- Those with a column more say which column of a table is meant.
    SELECT DISTINCT ON (f.fktable, f.fkcols[cardinality(f.fkcols)]) f.fktable, f.fkcols[cardinality(f.fkcols)] AS col, f.pktable, f.fkcols, f.is_array
      FROM pg_get_catalog_foreign_keys() f
     ORDER BY f.fktable, f.fkcols[cardinality(f.fkcols)], cardinality(f.fkcols) DESC
), cols AS (
    SELECT c.oid, string_agg(format('%L, %s', a.attname, coalesce(o.says, p.says,
               CASE WHEN a.atttypid = 'aclitem[]'::regtype
                    THEN format('to_jsonb(nullif(%s, %s))', format(acl.says, format('coalesce(t.%I, %s)', a.attname, coalesce(u.acl, 'NULL'))), format(acl.says, coalesce(u.acl, 'NULL::aclitem[]')))
                    WHEN f.pktable = 'pg_attribute'::regclass AND f.is_array
                    THEN format('(SELECT jsonb_agg(b.attname ORDER BY k.i) FROM unnest(t.%I::int2[]) WITH ORDINALITY k (n, i) LEFT JOIN pg_attribute b ON b.attrelid = t.%I AND b.attnum = k.n)', a.attname, f.fkcols[1])
                    WHEN f.pktable = 'pg_attribute'::regclass
                    THEN format('(SELECT b.attname FROM pg_attribute b WHERE b.attrelid = t.%I AND b.attnum = t.%I)', f.fkcols[1], a.attname)
                    WHEN f.is_array
                    THEN format('(SELECT jsonb_agg(%s ORDER BY %s) FROM unnest(t.%I::oid[]) WITH ORDINALITY k (x, i))', format(n.says, 'k.x'),
                                -- Roles are a set, in whichever order they are listed.
                                CASE f.pktable WHEN 'pg_authid'::regclass THEN format(n.says, 'k.x') ELSE 'k.i' END, a.attname)
                    WHEN f.pktable IS NOT NULL THEN format(n.says, format('t.%I', a.attname))
                    ELSE format('to_jsonb(t.%I)', a.attname) END)), ', ' ORDER BY a.attnum) AS text
      FROM catalog c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN physical p ON p.catalog = c.relname AND p.col = a.attname
      LEFT JOIN of_its_own o ON o.catalog = c.relname AND o.col = a.attname
      LEFT JOIN usual u ON u.catalog = c.relname
      LEFT JOIN refers f ON f.fktable = c.oid AND f.col = a.attname
      LEFT JOIN name k ON k.class = f.pktable
     CROSS JOIN LATERAL (SELECT coalesce(k.says, format('(SELECT i.type || '' '' || i.identity FROM pg_identify_object(%s, %%s, 0) i)', f.pktable::oid)) AS says) n
     CROSS JOIN (VALUES ('ARRAY(SELECT format(''%%s=%%s%%s/%%s'', CASE WHEN r.grantee <> 0 THEN r.grantee::regrole::text END, r.privilege_type, CASE WHEN r.is_grantable THEN ''*'' END, r.grantor::regrole) FROM aclexplode(%s) r WHERE NOT (r.grantee <> 0 AND r.grantee::regrole::text = ANY ($3)) ORDER BY 1)')) AS acl (says)
     WHERE (p.col IS NULL OR p.says IS NOT NULL) AND (o.col IS NULL OR o.says IS NOT NULL)
       AND a.atttypid <> 'pg_node_tree'::regtype AND a.attname NOT IN ('oid', 'classoid', 'objoid')
     GROUP BY c.oid
)
SELECT h.text || $lines$
, line (classid, objid, catalog, line) AS (
$lines$ || string_agg(format(
        '    SELECT m.classid, m.objid, %L, t.line FROM member m CROSS JOIN LATERAL (SELECT jsonb_build_object(%s)::text AS line FROM %I t WHERE t.%I = m.objid%s OFFSET 0) t%s',
        c.relname, s.text, c.relname, w.key,
        concat(CASE WHEN w.class IS NULL THEN ' AND t.classoid = m.classid'
                    WHEN c.has_oid AND w.key <> 'oid' THEN format(' AND (%s::oid, t.oid) NOT IN (SELECT o.classid, o.objid FROM ours o)', c.oid) END,
               CASE c.relname WHEN 'pg_attribute' THEN ' AND NOT t.attisdropped' END),
        ' WHERE m.classid = ' || w.class
    ), E'\n    UNION ALL\n' ORDER BY c.relname, w.key, w.class) || $depends$
), object AS MATERIALIZED (
    SELECT m.classid, m.objid, i.type || ' ' || i.identity AS object, pg_describe_object(m.classid, m.objid, 0) AS what,
           CASE WHEN k.conparentid <> 0 OR k.contype = 't' THEN format('a key of %s', k.conrelid::regclass)
                WHEN g.tgisinternal THEN format('a trigger of %s', g.tgrelid::regclass) END AS named_by_server
      FROM member m
     CROSS JOIN LATERAL pg_identify_object(m.classid, m.objid, 0) i
      LEFT JOIN pg_constraint k ON m.classid = 'pg_constraint'::regclass AND k.oid = m.objid
      LEFT JOIN pg_trigger g ON m.classid = 'pg_trigger'::regclass AND g.oid = m.objid
)
SELECT o.object, o.named_by_server, o.what, l.catalog, l.line FROM line l JOIN object o ON o.classid = l.classid AND o.objid = l.objid
$depends$ AS rows
  FROM way w JOIN catalog c ON c.oid = w.catalog JOIN cols s ON s.oid = c.oid CROSS JOIN head h
 WHERE c.relname NOT IN (SELECT e.catalog FROM elsewhere e)
   -- An index is an object of its own, and one that is not valid stays behind.
   AND (c.relname, w.key) <> ('pg_index', 'indrelid')
 GROUP BY h.text
