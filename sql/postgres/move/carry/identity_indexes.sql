-- The indexes by which rows are found when changes are applied: they have to be
-- there before the copy, the others are better made after it.
SELECT i.relname::text AS name
  FROM pg_index x
  JOIN pg_class i ON i.oid = x.indexrelid
  JOIN pg_class c ON c.oid = x.indrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND (x.indisprimary OR x.indisreplident)
