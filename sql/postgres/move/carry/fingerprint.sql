-- A query of everything in this server's catalogs that says how the objects of a schema ($1)
-- are defined, with what depends on them and on what they depend: an object each, with a hash.
-- Comes after physical.sql and of_schema.sql.
, cols AS (
    SELECT c.oid, string_agg(coalesce(p.says, format('t.%I', a.attname)), ', ' ORDER BY a.attnum) AS text
      FROM catalog c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN physical p ON p.catalog = c.relname AND p.col = a.attname
     WHERE p.col IS NULL OR p.says IS NOT NULL
     GROUP BY c.oid
), body AS (
    SELECT h.text || $lines$
, line (classid, objid, line) AS (
$lines$ || string_agg(format(
        '    SELECT m.classid, m.objid, t.line FROM member m CROSS JOIN LATERAL (SELECT ROW(%s)::text AS line FROM %I t WHERE t.%I = m.objid%s OFFSET 0) t%s',
        s.text, c.relname, w.key,
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
      FROM way w JOIN catalog c ON c.oid = w.catalog JOIN cols s ON s.oid = c.oid CROSS JOIN head h
     GROUP BY h.text
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
