-- The indexes by which rows are found when changes are applied, and their
-- constraints, as pg_dump lists them: table of the catalog and number. They have
-- to be there before the copy, the others are better made after it.
SELECT format('%s %s', o.classid, o.objid) AS entry
  FROM pg_index x
  JOIN pg_class c ON c.oid = x.indrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL (
      SELECT 'pg_class'::regclass::oid, x.indexrelid
      UNION ALL
      SELECT 'pg_constraint'::regclass::oid, k.oid FROM pg_constraint k
       -- Not a foreign key of the table to itself, which names the index as well.
       WHERE k.conindid = x.indexrelid AND k.conrelid = x.indrelid AND k.contype IN ('p', 'u', 'x')
  ) AS o(classid, objid)
 WHERE n.nspname = $1 AND (x.indisprimary OR x.indisreplident)
