-- A query of everything in this server's catalogs that says how the objects of a schema ($1)
-- are defined, with what depends on them and on what they depend: an object each, with a hash.
-- It is asked of the catalogs themselves which of their rows belong to an object: those that
-- have its oid, those that an index finds by it (pg_get_catalog_foreign_keys()), and those by
-- table and oid (comments). Objects of ours are left out: triggers that guard a copy, and what a
-- publication ($2) has. A column that is missing in the list below makes a move stop after a
-- VACUUM or an ANALYZE, and loses nothing.
WITH physical (catalog, col, says) AS (VALUES
    -- Where rows lie and how many there are: changed by TRUNCATE, REINDEX, VACUUM and ANALYZE.
    ('pg_class', 'relfilenode', NULL),
    ('pg_class', 'relpages', NULL),
    ('pg_class', 'reltuples', NULL),
    ('pg_class', 'relallvisible', NULL),
    ('pg_class', 'relallfrozen', NULL),
    ('pg_class', 'relfrozenxid', NULL),
    ('pg_class', 'relminmxid', NULL),
    -- Set with the first and taken back by some later VACUUM; the catalogs meant say it themselves.
    ('pg_class', 'relhasindex', NULL),
    ('pg_class', 'relhasrules', NULL),
    ('pg_class', 'relhastriggers', NULL),
    ('pg_class', 'relhassubclass', NULL),
    -- VACUUM FULL makes another one; what is set for it stands there alone.
    ('pg_class', 'reltoastrelid', '(SELECT x.reloptions FROM pg_class x WHERE x.oid = t.reltoastrelid)'),
    ('pg_index', 'indcheckxmin', NULL),
    -- VACUUM FULL writes the value into each row.
    ('pg_attribute', 'atthasmissing', NULL),
    ('pg_attribute', 'attmissingval', NULL)
), catalog AS (
    SELECT c.oid, c.relname,
           string_agg(coalesce(p.says, format('t.%I', a.attname)), ', ' ORDER BY a.attnum) AS cols,
           bool_or(a.attname = 'oid') AS has_oid,
           bool_or(a.attname = 'classoid') AND bool_or(a.attname = 'objoid') AS is_of_any
      FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN physical p ON p.catalog = c.relname AND p.col = a.attname
     WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind = 'r' AND NOT c.relisshared
       -- What ANALYZE finds is not defined by anybody, and dependencies are asked for below.
       AND c.relname NOT IN ('pg_statistic', 'pg_statistic_ext_data', 'pg_depend')
       AND (p.col IS NULL OR p.says IS NOT NULL)
     GROUP BY c.oid, c.relname
), way (catalog, class, key) AS (
    SELECT c.oid, c.oid::text, 'oid' FROM catalog c WHERE c.has_oid
    UNION
    SELECT c.oid, f.pktable::oid::text, f.fkcols[1]
      FROM catalog c JOIN pg_get_catalog_foreign_keys() f ON f.fktable = c.oid
      JOIN catalog p ON p.oid = f.pktable
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = f.fkcols[1]
     WHERE cardinality(f.fkcols) = 1 AND NOT f.is_array
       AND EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum)
    UNION
    SELECT c.oid, NULL, 'objoid' FROM catalog c WHERE c.is_of_any
), body AS (
    SELECT $head$
WITH RECURSIVE ours (classid, objid) AS MATERIALIZED (
    SELECT d.classid, d.objid FROM pg_depend d
     WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = to_regprocedure('shardid.refuse_write()')
    UNION ALL
    SELECT d.classid, d.objid FROM pg_publication p
      JOIN pg_depend d ON d.refclassid = 'pg_publication'::regclass AND d.refobjid = p.oid
     WHERE p.pubname = $2
), depends AS NOT MATERIALIZED (
    SELECT * FROM pg_depend d
     -- By a hash, here and below: a fence has three triggers on each table.
     WHERE (d.classid, d.objid) NOT IN (SELECT o.classid, o.objid FROM ours o)
       AND NOT EXISTS (SELECT FROM pg_class c WHERE d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind = 't')
), member (classid, objid) AS MATERIALIZED (
    SELECT 'pg_namespace'::regclass::oid, oid FROM pg_namespace WHERE nspname = $1
    UNION
    SELECT d.classid, d.objid FROM member m
     CROSS JOIN LATERAL (
         SELECT * FROM depends d
          WHERE d.refclassid = m.classid AND d.refobjid = m.objid
            AND (d.deptype IN ('a', 'i', 'P', 'S', 'x') OR d.deptype = 'n' AND m.classid = 'pg_namespace'::regclass)
         OFFSET 0
     ) d
), line (classid, objid, line) AS (
$head$ || string_agg(format(
        '    SELECT m.classid, m.objid, t.line FROM member m CROSS JOIN LATERAL (SELECT ROW(%s)::text AS line FROM %I t WHERE t.%I = m.objid%s OFFSET 0) t%s',
        c.cols, c.relname, w.key,
        CASE WHEN w.class IS NULL THEN ' AND t.classoid = m.classid'
             WHEN c.has_oid AND w.key <> 'oid' THEN format(' AND (%s::oid, t.oid) NOT IN (SELECT o.classid, o.objid FROM ours o)', c.oid) END,
        ' WHERE m.classid = ' || w.class
    ), E'\n    UNION ALL\n' ORDER BY c.relname, w.key, w.class) || $depends$
    UNION ALL
    SELECT m.classid, m.objid, d.line FROM member m
     CROSS JOIN LATERAL (SELECT d::text AS line FROM depends d WHERE d.classid = m.classid AND d.objid = m.objid OFFSET 0) d
    UNION ALL
    SELECT m.classid, m.objid, d.line FROM member m
     CROSS JOIN LATERAL (SELECT d::text AS line FROM depends d WHERE d.refclassid = m.classid AND d.refobjid = m.objid OFFSET 0) d
), object (object, hash) AS (
    SELECT l.classid || ' ' || l.objid, sum(hashtextextended(l.line, 0))::text FROM line l GROUP BY l.classid, l.objid
)
$depends$ AS text
      FROM way w JOIN catalog c ON c.oid = w.catalog
)
SELECT text || $noted$
SELECT coalesce(jsonb_object_agg(o.object, jsonb_build_array(o.hash, pg_describe_object(split_part(o.object, ' ', 1)::oid, split_part(o.object, ' ', 2)::oid, 0))), '{}')::text
  FROM object o
$noted$ AS noted, text || $changed$
SELECT coalesce(b.value ->> 1, pg_describe_object(split_part(o.object, ' ', 1)::oid, split_part(o.object, ' ', 2)::oid, 0)) AS name
  FROM object o FULL JOIN jsonb_each($3::text::jsonb) b ON b.key = o.object
 WHERE o.hash IS DISTINCT FROM b.value ->> 0
 ORDER BY 1
$changed$ AS changed
  FROM body
