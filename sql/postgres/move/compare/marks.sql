-- The tables of a schema ($1) that hold rows, with what changes where rows may have changed past
-- replication: the file, which a rewrite makes anew; the version of the row by which the
-- table belongs to its schema; and those of the names of table, columns and values of enums, by which rows are replicated: who has
-- swapped two and swapped them back may have written in between. Which enums a column is made of is not asked.
WITH enum AS (
    SELECT string_agg(e.xmin::text, ',' ORDER BY e.oid) AS versions FROM pg_enum e
)
SELECT format('%I.%I', n.nspname, c.relname) AS name,
       concat_ws(' ', c.oid, c.relfilenode, d.xmin, t.xmin,
           (SELECT string_agg(a.xmin::text, ',' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0),
           md5((TABLE enum))) AS mark
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  -- The table's own type has its name.
  JOIN pg_type t ON t.oid = c.reltype
  JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0
       AND d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid
 WHERE n.nspname = $1 AND c.relkind = 'r'
