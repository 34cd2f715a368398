-- Tables of a schema that would refuse UPDATE and DELETE once they are published.
SELECT format('table %I.%I has no primary key and no replica identity', n.nspname, c.relname) AS problem,
       format('ALTER TABLE %1$I.%2$I ADD PRIMARY KEY (…); or ALTER TABLE %1$I.%2$I REPLICA IDENTITY FULL;', n.nspname, c.relname) AS hint
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1 AND c.relkind = 'r'
   AND CASE c.relreplident
       WHEN 'f' THEN false
       WHEN 'd' THEN NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
       WHEN 'i' THEN NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisreplident)
       ELSE true
   END
