-- What the owners of the objects in a schema ($1) have granted, and to whom: what it is, the privilege, the role; PUBLIC is
-- none. Of objects of one kind and owner that have the same grants one stands for all.
, object (classid, objid, kind, owner, acl) AS (
    SELECT i.classid, i.objid, CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner, c.relacl
      FROM inside i JOIN pg_class c ON i.classid = 'pg_class'::regclass AND c.oid = i.objid
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    UNION ALL
    SELECT i.classid, i.objid, 'f', p.proowner, p.proacl
      FROM inside i JOIN pg_proc p ON i.classid = 'pg_proc'::regclass AND p.oid = i.objid
    UNION ALL
    SELECT i.classid, i.objid, 'T', t.typowner, t.typacl
      FROM inside i JOIN pg_type t ON i.classid = 'pg_type'::regclass AND t.oid = i.objid
     -- Those of tables and arrays are their owners', and have no grants.
     WHERE t.typcategory <> 'A' AND (t.typtype <> 'c' OR EXISTS (SELECT FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind = 'c'))
    UNION ALL
    SELECT 'pg_namespace'::regclass, n.oid, 'n', n.nspowner, n.nspacl FROM pg_namespace n WHERE n.nspname = $1
), grants (what, kind, owner, acl) AS (
    SELECT min(w.type || ' ' || w.identity), o.kind, o.owner, coalesce(o.acl, acldefault(o.kind, o.owner))
      FROM object o CROSS JOIN LATERAL pg_identify_object(o.classid, o.objid, 0) AS w
     GROUP BY o.kind, o.owner, o.acl
    UNION ALL
    SELECT min('column ' || quote_ident(a.attname) || ' of ' || i.objid::regclass), 'c', c.relowner, a.attacl
      FROM inside i JOIN pg_class c ON i.classid = 'pg_class'::regclass AND c.oid = i.objid
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attacl IS NOT NULL AND NOT a.attisdropped
     GROUP BY c.relowner, a.attacl
    UNION ALL
    SELECT format('default privileges of role %s', quote_ident(pg_get_userbyid(d.defaclrole))), 'd', d.defaclrole, d.defaclacl
      FROM inside i JOIN pg_default_acl d ON i.classid = 'pg_default_acl'::regclass AND d.oid = i.objid
), held (what, privilege, role) AS (
    SELECT g.what, x.privilege, a.grantee
      FROM grants g CROSS JOIN LATERAL aclexplode(g.acl) a
     CROSS JOIN LATERAL (VALUES (a.privilege_type), (CASE WHEN a.is_grantable THEN a.privilege_type || ' WITH GRANT OPTION' END)) AS x (privilege)
     WHERE x.privilege IS NOT NULL
    UNION
    -- Whoever is a member of an owner may do what this one may.
    SELECT g.what, 'OWNERSHIP', g.owner FROM grants g
    UNION
    SELECT min(w.type || ' ' || w.identity), 'OWNERSHIP', s.refobjid
      FROM inside i
      JOIN pg_shdepend s ON s.classid = i.classid AND s.objid = i.objid AND s.deptype = 'o' AND s.refclassid = 'pg_authid'::regclass
       AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
     CROSS JOIN LATERAL pg_identify_object(i.classid, i.objid, 0) AS w
     WHERE (i.classid, s.refobjid) NOT IN (SELECT o.classid, o.owner FROM object o)
     GROUP BY i.classid, s.refobjid
    UNION
    SELECT min(format('policy %I on %s', p.polname, p.polrelid::regclass)), CASE WHEN p.polpermissive THEN 'ROWS' ELSE 'RESTRICTION' END, r.oid
      FROM inside i JOIN pg_policy p ON i.classid = 'pg_policy'::regclass AND p.oid = i.objid
     CROSS JOIN LATERAL unnest(p.polroles) AS r (oid)
     GROUP BY r.oid, p.polpermissive
    UNION
    -- Roles of the server that have rights on all there is.
    SELECT g.what, every.privilege, r.oid
      FROM grants g
      JOIN (VALUES ('pg_read_all_data', 'r', 'SELECT'), ('pg_read_all_data', 's', 'SELECT'), ('pg_read_all_data', 'n', 'USAGE'),
                   ('pg_write_all_data', 'r', 'INSERT'), ('pg_write_all_data', 'r', 'UPDATE'), ('pg_write_all_data', 'r', 'DELETE'),
                   ('pg_write_all_data', 's', 'UPDATE'), ('pg_write_all_data', 'n', 'USAGE'),
                   ('pg_maintain', 'r', 'MAINTAIN')) AS every (role, kind, privilege)
        ON every.kind = g.kind::text
      JOIN pg_roles r ON r.rolname = every.role
)
SELECT h.what, h.privilege, r.rolname::text AS role
  FROM held h LEFT JOIN pg_roles r ON r.oid = h.role
 WHERE h.role = 0 OR r.oid IS NOT NULL
 ORDER BY 1, 2, 3
