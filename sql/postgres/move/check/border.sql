-- What crosses the border of a schema ($1): something in it that needs something outside, or the
-- other way round. What extensions and the system bring is on every node.
, own AS (
    SELECT i.classid, i.objid FROM inside i
     -- The triggers of a foreign key go with it.
     WHERE NOT EXISTS (SELECT FROM pg_trigger t WHERE i.classid = 'pg_trigger'::regclass AND t.oid = i.objid AND t.tgisinternal)
), common AS (
    SELECT classid, objid FROM pg_depend WHERE deptype = 'e'
), crossing AS (
    SELECT DISTINCT d.classid, d.objid, d.objsubid, d.refclassid, d.refobjid
      FROM own
      JOIN pg_depend d ON d.classid = own.classid AND d.objid = own.objid AND d.deptype <> 'e'
     WHERE (d.refclassid, d.refobjid) NOT IN (SELECT classid, objid FROM whole)
       AND (d.refclassid, d.refobjid) NOT IN (SELECT classid, objid FROM here)
       AND d.refclassid <> 'pg_extension'::regclass
       -- What initdb has made, such as collations, is not all pinned.
       AND d.refobjid >= 16384
       AND coalesce((pg_identify_object(d.refclassid, d.refobjid, 0)).schema, '') NOT IN ('pg_catalog', 'information_schema')
       AND (d.refclassid, d.refobjid) NOT IN (SELECT classid, objid FROM common)
       -- The array of a type that is.
       AND NOT EXISTS (SELECT FROM pg_depend p JOIN common m ON m.classid = p.refclassid AND m.objid = p.refobjid
                        WHERE p.classid = d.refclassid AND p.objid = d.refobjid AND p.deptype IN ('i', 'a'))
    UNION
    SELECT DISTINCT ON (o.classid, o.objid, o.objsubid) o.classid, o.objid, o.objsubid, d.refclassid, d.refobjid
      FROM outside o
      JOIN pg_depend d ON d.classid = o.classid AND d.objid = o.objid AND d.objsubid = o.objsubid
      JOIN whole w ON w.classid = d.refclassid AND w.objid = d.refobjid
     -- Said in other words.
     WHERE NOT EXISTS (SELECT FROM pg_class c WHERE d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid AND c.relkind IN ('i', 'I'))
       AND o.classid NOT IN ('pg_cast'::regclass, 'pg_publication_rel'::regclass, 'pg_publication_namespace'::regclass, 'pg_extension'::regclass)
)
SELECT format('%s needs %s, across the border of schema %I',
              pg_describe_object(classid, objid, objsubid), pg_describe_object(refclassid, refobjid, 0), $1::text) AS problem,
       format('bring both into schema %I, or change what needs the other', $1::text) AS hint
  FROM crossing
 -- A foreign key needs the index of a table that it needs as well.
 WHERE NOT EXISTS (SELECT FROM pg_class c WHERE refclassid = 'pg_class'::regclass AND c.oid = refobjid AND c.relkind IN ('i', 'I'))
UNION
SELECT format('%s is in schema %I, and is not carried', pg_describe_object(classid, objid, 0), $1::text),
       format('ALTER EXTENSION %I SET SCHEMA ...;', (SELECT e.extname FROM pg_extension e WHERE e.oid = objid))
  FROM outside WHERE classid = 'pg_extension'::regclass
UNION
-- A dump has none of it: it comes with its extension, or was added to it by hand.
SELECT format('%s belongs to extension %I, and is not carried', pg_describe_object(w.classid, w.objid, 0), e.extname),
       format('ALTER EXTENSION %I DROP %s %s;', e.extname, upper(i.type), i.identity)
  FROM (SELECT classid, objid FROM whole EXCEPT SELECT classid, objid FROM outside) w
  JOIN pg_depend d ON d.classid = w.classid AND d.objid = w.objid AND d.deptype = 'e'
  JOIN pg_extension e ON e.oid = d.refobjid
 CROSS JOIN LATERAL pg_identify_object(w.classid, w.objid, 0) AS i
 -- Said above of the whole of it.
 WHERE (d.refclassid, d.refobjid) NOT IN (SELECT classid, objid FROM outside)
UNION
SELECT format('table %s is fed by subscription %I, whose rows would go on to the old copy', r.srrelid::regclass, s.subname),
       format('take it out of the publication there; then ALTER SUBSCRIPTION %I REFRESH PUBLICATION;', s.subname)
  FROM pg_subscription_rel r JOIN pg_subscription s ON s.oid = r.srsubid
  JOIN inside i ON i.classid = 'pg_class'::regclass AND i.objid = r.srrelid
 WHERE s.subname !~ '^shardid_(move|back)_[0-9]+$'
 ORDER BY 1
