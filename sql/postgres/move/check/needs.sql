-- The roles and extensions that the objects of a schema name.
SELECT DISTINCT kind, name FROM (
    SELECT 'role' AS kind, r.rolname::text AS name
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles r ON r.oid = c.relowner
     WHERE n.nspname = $1
    UNION ALL
    SELECT 'role', r.rolname::text
      FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner WHERE n.nspname = $1
    UNION ALL
    SELECT 'role', r.rolname::text
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_roles r ON r.oid = p.proowner
     WHERE n.nspname = $1
    UNION ALL
    SELECT 'role', r.rolname::text
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      CROSS JOIN LATERAL aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
     WHERE n.nspname = $1
    UNION ALL
    SELECT 'role', r.rolname::text
      FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a JOIN pg_roles r ON r.oid = a.grantee
     WHERE n.nspname = $1
    UNION ALL
    SELECT 'extension', e.extname::text
      FROM pg_depend d
      JOIN pg_depend m ON m.classid = d.refclassid AND m.objid = d.refobjid AND m.deptype = 'e'
      JOIN pg_extension e ON e.oid = m.refobjid
      JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1
) AS needs
