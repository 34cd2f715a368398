-- Tables whose guard was switched off, or is on again for clients alone, as pg_restore --disable-triggers
-- leaves it: the schema, the table, and what puts it back.
SELECT n.nspname::text AS schema, format('%I.%I', n.nspname, c.relname) AS name,
       format('ALTER TABLE ONLY %I.%I %s;', n.nspname, c.relname,
              string_agg(format('ENABLE ALWAYS TRIGGER %I', t.tgname), ', ' ORDER BY t.tgname)) AS mend
  FROM pg_trigger t
  JOIN pg_class c ON c.oid = t.tgrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE t.tgfoid = to_regprocedure('shardid.refuse_write()') AND t.tgenabled <> 'A'
 GROUP BY n.nspname, c.oid, c.relname
 ORDER BY n.nspname, c.relname
