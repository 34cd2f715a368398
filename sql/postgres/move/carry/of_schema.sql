, catalog AS (
    SELECT c.oid, c.relname, bool_or(a.attname = 'oid') AS has_oid,
           bool_or(a.attname = 'classoid') AND bool_or(a.attname = 'objoid') AS is_of_any
      FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind = 'r' AND NOT c.relisshared
       -- What ANALYZE finds is not defined by anybody, and dependencies are asked for by themselves.
       AND c.relname NOT IN ('pg_statistic', 'pg_statistic_ext_data', 'pg_depend')
     GROUP BY c.oid, c.relname
-- It is asked of the catalogs themselves which of their rows belong to an object: those that
-- have its oid, those that an index finds by it (pg_get_catalog_foreign_keys()), and those by
-- table and oid (comments).
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
-- A query's beginning: the objects of a schema ($1), without those of ours, which are triggers that guard a copy, and what a
-- publication ($2) has.
), head (text) AS (
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
)
$head$
)
