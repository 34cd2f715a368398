-- The tables of a schema ($1) that hold rows, with what changes where rows may have changed past
-- replication: the file, which a rewrite makes anew, and the version of the row by which the
-- table belongs to its schema.
SELECT format('%I.%I', n.nspname, c.relname) AS name, format('%s %s %s', c.oid, c.relfilenode, d.xmin) AS mark
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0
       AND d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid
 WHERE n.nspname = $1 AND c.relkind = 'r'
