-- The roles, tablespaces and extensions that the objects of a schema ($1) name. The server notes on
-- whom they depend, but for the first superuser.
, home AS (
    SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = $1
), member AS (
    SELECT 'pg_class'::regclass AS classid, oid AS objid, relowner AS owner, relacl AS acl FROM pg_class WHERE relnamespace = (SELECT oid FROM home)
    UNION ALL SELECT 'pg_proc'::regclass, oid, proowner, proacl FROM pg_proc WHERE pronamespace = (SELECT oid FROM home)
    UNION ALL SELECT 'pg_type'::regclass, oid, typowner, typacl FROM pg_type WHERE typnamespace = (SELECT oid FROM home)
    UNION ALL SELECT 'pg_namespace'::regclass, oid, nspowner, nspacl FROM home
    UNION ALL SELECT 'pg_constraint'::regclass, oid, NULL, NULL FROM pg_constraint WHERE connamespace = (SELECT oid FROM home)
    UNION ALL SELECT 'pg_attrdef'::regclass, d.oid, NULL, NULL FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid WHERE c.relnamespace = (SELECT oid FROM home)
    UNION ALL SELECT 'pg_trigger'::regclass, t.oid, NULL, NULL FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = (SELECT oid FROM home)
    UNION ALL SELECT 'pg_rewrite'::regclass, r.oid, NULL, NULL FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class WHERE c.relnamespace = (SELECT oid FROM home)
    UNION ALL SELECT 'pg_policy'::regclass, p.oid, NULL, NULL FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = (SELECT oid FROM home)
    UNION ALL SELECT 'pg_default_acl'::regclass, oid, defaclrole, defaclacl FROM pg_default_acl WHERE defaclnamespace = (SELECT oid FROM home)
    UNION ALL SELECT 'pg_attribute'::regclass, a.attrelid, NULL, a.attacl FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = (SELECT oid FROM home) AND a.attacl IS NOT NULL
)
SELECT 'role' AS kind, r.rolname::text AS name, NULL AS home FROM member m JOIN pg_roles r ON r.oid = m.owner
UNION
SELECT 'role', r.rolname::text, NULL FROM member m CROSS JOIN LATERAL aclexplode(m.acl) a
  JOIN pg_roles r ON r.oid IN (a.grantee, a.grantor)
UNION
SELECT 'role', r.rolname::text, NULL FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
  JOIN pg_roles r ON r.oid = ANY (p.polroles)
 WHERE c.relnamespace = (SELECT oid FROM home)
UNION
SELECT 'tablespace', t.spcname::text, NULL FROM pg_class c JOIN pg_tablespace t ON t.oid = c.reltablespace
 WHERE c.relnamespace = (SELECT oid FROM home)
UNION
SELECT CASE s.refclassid WHEN 'pg_authid'::regclass THEN 'role' ELSE 'tablespace' END, coalesce(r.rolname, t.spcname)::text, NULL
  FROM inside i
  JOIN pg_shdepend s ON s.classid = i.classid AND s.objid = i.objid
   AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
  LEFT JOIN pg_roles r ON s.refclassid = 'pg_authid'::regclass AND r.oid = s.refobjid
  LEFT JOIN pg_tablespace t ON s.refclassid = 'pg_tablespace'::regclass AND t.oid = s.refobjid
 WHERE coalesce(r.rolname, t.spcname) IS NOT NULL
UNION
SELECT 'extension', e.extname::text, n.nspname::text
  FROM inside i
  JOIN pg_depend d ON d.classid = i.classid AND d.objid = i.objid
  JOIN pg_depend x ON x.classid = d.refclassid AND x.objid = d.refobjid AND x.deptype = 'e'
  JOIN pg_extension e ON e.oid = x.refobjid
  JOIN pg_namespace n ON n.oid = e.extnamespace
 ORDER BY 1, 2
