-- Tables of a schema that would refuse UPDATE and DELETE once they are published, or whose changes
-- could not be applied: by an index that is checked later no row is found, and what is generated is
-- not sent.
SELECT format('table %I.%I has %s', n.nspname, c.relname, CASE
           WHEN x.indexrelid IS NULL THEN 'no primary key and no replica identity'
           WHEN NOT x.indimmediate THEN format('replica identity %I, which is deferrable', i.relname)
           ELSE format('replica identity %I, with a generated column', i.relname) END) AS problem,
       CASE WHEN x.indexrelid IS NULL THEN format('ALTER TABLE %1$I.%2$I ADD PRIMARY KEY (...); or ', n.nspname, c.relname) ELSE '' END
           || format('ALTER TABLE %1$I.%2$I REPLICA IDENTITY FULL;', n.nspname, c.relname) AS hint
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_index x ON x.indrelid = c.oid
   AND CASE c.relreplident WHEN 'd' THEN x.indisprimary WHEN 'i' THEN x.indisreplident ELSE false END
  LEFT JOIN pg_class i ON i.oid = x.indexrelid
 WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relreplident <> 'f'
   AND (x.indexrelid IS NULL OR NOT x.indimmediate
        OR EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated <> '' AND a.attnum = ANY (x.indkey)))
