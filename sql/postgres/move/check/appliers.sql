-- Tables of a schema ($1) whose owner could not write to them what comes from another node, as
-- it is applied with the owner's rights from PostgreSQL 16 on.
SELECT format('role %I, which owns %I.%I, may not use its schema, and on the other node what comes is written with that role''s rights', o.rolname, n.nspname, c.relname) AS problem,
       format('GRANT USAGE ON SCHEMA %I TO %I;', n.nspname, o.rolname) AS hint
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner
 WHERE n.nspname = $1 AND c.relkind = 'r' AND NOT has_schema_privilege(o.oid, n.oid, 'USAGE')
UNION ALL
SELECT format('role %I lacks a right to change its own table %I.%I, and on the other node what comes is written with that role''s rights', o.rolname, n.nspname, c.relname),
       format('GRANT ALL ON %I.%I TO %I;', n.nspname, c.relname, o.rolname)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner
 WHERE n.nspname = $1 AND c.relkind = 'r'
   AND EXISTS (SELECT FROM unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS p(privilege)
                WHERE NOT has_table_privilege(o.oid, c.oid, p.privilege))
UNION ALL
SELECT format('policies of %I.%I are forced on role %I, which owns it, and on the other node what comes is written with that role''s rights', n.nspname, c.relname, o.rolname),
       format('ALTER TABLE %I.%I NO FORCE ROW LEVEL SECURITY; until the move is over and its old copy retired', n.nspname, c.relname)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner
 WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relrowsecurity AND c.relforcerowsecurity AND NOT (o.rolsuper OR o.rolbypassrls)
