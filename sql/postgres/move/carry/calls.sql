-- A query of which functions and operators that are not PostgreSQL's own the definitions in a schema ($1) are bound to: what it
-- is, at which place of it, and what it calls there; and without a place all that it calls. Which columns of the catalogs name a
-- function or an operator, and which have expressions, is asked of the server. The places of one server are those of
-- another one of the same major version.
WITH part (catalog, attnum, name, text) AS (
    SELECT f.fktable::oid, a.attnum, a.attname,
           format(CASE WHEN f.is_array THEN 'array_to_string(t.%I::oid[], '' '')' ELSE 't.%I::oid::text' END, a.attname)
      FROM pg_get_catalog_foreign_keys() f
     CROSS JOIN unnest(f.fkcols) AS k (name)
      JOIN pg_attribute a ON a.attrelid = f.fktable AND a.attname = k.name
     WHERE f.pktable IN ('pg_proc'::regclass, 'pg_operator'::regclass)
    UNION ALL
    SELECT a.attrelid, a.attnum, a.attname, format('t.%I::text', a.attname)
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE a.atttypid = 'pg_node_tree'::regtype AND c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind = 'r'
), key (catalog, class, name) AS (
    -- Of which object a row is: of its own oid, or else of what its primary key is the oid of.
    SELECT DISTINCT p.catalog, coalesce(own.attrelid, f.pktable::oid), coalesce(own.attname, f.fkcols[1])
      FROM part p
      LEFT JOIN pg_attribute own ON own.attrelid = p.catalog AND own.attname = 'oid'
      LEFT JOIN pg_index i ON own.attrelid IS NULL AND i.indrelid = p.catalog AND i.indisprimary
      LEFT JOIN pg_attribute first ON first.attrelid = p.catalog AND first.attnum = i.indkey[0]
      LEFT JOIN pg_get_catalog_foreign_keys() f ON f.fktable = p.catalog AND f.fkcols = ARRAY[first.attname::text]
)
SELECT $before$
, called AS MATERIALIZED (
    -- Not pg_describe_object(), whose words depend on a server's language. Of ours are the triggers that guard a copy.
    SELECT DISTINCT d.classid, d.objid, d.refobjid, w.type || ' ' || w.identity AS what, f.type || ' ' || f.identity AS calls
      FROM inside i
      JOIN pg_depend d ON d.classid = i.classid AND d.objid = i.objid AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
     CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, 0) AS w
     CROSS JOIN LATERAL pg_identify_object(d.refclassid, d.refobjid, 0) AS f
     WHERE NOT EXISTS (SELECT FROM pg_depend e JOIN pg_extension x ON x.oid = e.refobjid AND x.extname = 'shardid'
                        WHERE e.classid = d.refclassid AND e.objid = d.refobjid AND e.deptype = 'e')
       AND w.identity IS NOT NULL AND f.identity IS NOT NULL
), caller AS MATERIALIZED (
    SELECT DISTINCT classid, objid FROM called
), part (classid, objid, name, text) AS (
$before$ || string_agg(format(
           '    SELECT c.classid, c.objid, %L, t.text FROM caller c CROSS JOIN LATERAL (SELECT %s AS text FROM %s t WHERE t.%I = c.objid OFFSET 0) t WHERE c.classid = %s',
           p.name, p.text, p.catalog::regclass, k.name, k.class
       ), E'\n    UNION ALL\n' ORDER BY p.catalog, p.attnum) || $after$
)
SELECT what, '' AS place, calls FROM called
UNION ALL
SELECT c.what, p.name || ' ' || row_number() OVER (PARTITION BY p.classid, p.objid, p.name ORDER BY m.n), c.calls
  FROM part p
 -- Any number of an expression that is the oid of one of these, but for where in a text something stood.
 CROSS JOIN LATERAL regexp_matches(p.text, '(?<!location )\m\d+\M', 'g') WITH ORDINALITY AS m (found, n)
  JOIN called c ON c.classid = p.classid AND c.objid = p.objid AND c.refobjid::text = m.found[1]
UNION ALL
-- Forms whose text names no operator: NULLIF, IS DISTINCT FROM, CASE x WHEN, IN of a subquery; USING and NATURAL JOIN; rows.
SELECT DISTINCT c.what, 'unnamed', c.calls
  FROM part p
  JOIN called c ON c.classid = p.classid AND c.objid = p.objid AND c.calls LIKE 'operator %'
 WHERE p.text ~ format('\{(NULLIFEXPR|DISTINCTEXPR) :opno %s\M', c.refobjid)
    OR p.text ~ format('\{CASEWHEN :expr \{OPEXPR :opno %s [^{}]*:args \(\{([A-Z]+ :arg \{)?CASETESTEXPR', c.refobjid)
    OR p.text ~ format('\{SUBLINK :subLinkType 2 [^{}]*:testexpr \{OPEXPR :opno %s\M', c.refobjid)
    OR p.text ~ format('\{ROWCOMPAREEXPR :[a-z]+ [0-9]+ :opnos \(o [0-9 ]*\m%s\M', c.refobjid)
    OR p.text ~ ':usingClause \("' AND c.calls ~ '^operator ([^.]+\.)?=\('
$after$
  FROM part p JOIN key k ON k.catalog = p.catalog
