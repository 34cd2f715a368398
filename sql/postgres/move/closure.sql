-- What a schema ($1) has, and what would go with it and is none of it, such as a view elsewhere,
-- a foreign key of another table, a table's place in a publication. What goes is what depends on it,
-- and on that, and so on, whatever it is; of it, the schema has what says so, or is part of something
-- that goes. A query over `inside` and `outside` comes after this.
WITH RECURSIVE here AS (
    SELECT 'pg_namespace'::regclass::oid AS classid, oid AS objid FROM pg_namespace WHERE nspname = $1
), goes (classid, objid, objsubid) AS (
    SELECT classid, objid, 0 FROM here
    UNION
    -- A column of a table that stays takes nothing else along.
    SELECT d.classid, d.objid, d.objsubid
      FROM goes g JOIN pg_depend d ON d.refclassid = g.classid AND d.refobjid = g.objid
     WHERE g.objsubid = 0 OR (g.classid, g.objid) IN (SELECT classid, objid FROM here)
), whole AS (
    SELECT DISTINCT classid, objid FROM goes WHERE objsubid = 0
), lives AS (
    SELECT w.classid, w.objid,
           bool_or(d.deptype = 'n' AND d.refclassid = h.classid AND d.refobjid = h.objid) AS here,
           bool_or(d.refclassid = h.classid AND d.refobjid <> h.objid) AS elsewhere,
           bool_or(d.deptype IN ('a', 'i', 'P', 'S')) AS is_part,
           -- Here and below by a hash, however few the planner takes there to be.
           bool_or(d.deptype IN ('a', 'i', 'P', 'S') AND (d.refclassid, d.refobjid) NOT IN (SELECT classid, objid FROM whole)) AS is_part_of_what_stays
      FROM whole w
      CROSS JOIN here h
      JOIN pg_depend d ON d.classid = w.classid AND d.objid = w.objid AND d.objsubid = 0
     WHERE (w.classid, w.objid) NOT IN (SELECT classid, objid FROM here)
     GROUP BY w.classid, w.objid
), outside AS (
    SELECT classid, objid, 0 AS objsubid FROM lives
     -- An extension is the whole database's, wherever it has its objects.
     WHERE (NOT here AND (elsewhere OR is_part_of_what_stays OR NOT is_part) OR classid = 'pg_extension'::regclass)
       -- The triggers of a foreign key go with it.
       AND NOT (classid = 'pg_trigger'::regclass
                AND EXISTS (SELECT FROM pg_trigger t WHERE t.oid = objid AND t.tgisinternal))
    UNION
    SELECT g.classid, g.objid, g.objsubid FROM goes g
     WHERE g.objsubid <> 0
       AND (g.classid, g.objid) NOT IN (SELECT classid, objid FROM whole)
), inside AS (
    SELECT w.classid, w.objid FROM whole w
     WHERE (w.classid, w.objid) NOT IN (SELECT classid, objid FROM outside WHERE objsubid = 0)
       -- What belongs to an extension is its business.
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = w.classid AND d.objid = w.objid AND d.deptype = 'e')
)
