-- What roles ($1) may do on this server beside what they were granted on objects, and what those may of which they are members:
-- their functions may do it too. And whether a role is one of the first ones.
SELECT r.rolname::text AS role, p.power, r.rolname = ANY ($1::text[]) AS is_named
  FROM pg_roles r
 CROSS JOIN LATERAL (
     -- Who is one may do all else as well.
     SELECT 'is a superuser' WHERE r.rolsuper
     UNION ALL SELECT 'may make roles' WHERE r.rolcreaterole
     UNION ALL SELECT 'may make databases' WHERE r.rolcreatedb
     UNION ALL SELECT 'may replicate' WHERE r.rolreplication
     UNION ALL SELECT 'sees past row level security' WHERE r.rolbypassrls
     UNION ALL SELECT 'owns the database' FROM pg_database d WHERE d.datdba = r.oid AND d.datname = current_database()
     UNION ALL SELECT format('stands for role %s, as the owner of the database', quote_ident(pg_get_userbyid(d.datdba)))
       FROM pg_database d WHERE r.rolname = 'pg_database_owner' AND d.datname = current_database()
     UNION ALL SELECT format('is a member of role %s', quote_ident(g.rolname)) FROM pg_roles g
      WHERE g.oid <> r.oid AND g.rolname <> 'pg_database_owner' AND pg_has_role(r.oid, g.oid, 'MEMBER')
     -- Its functions have what it inherits; none may SET ROLE.
     UNION ALL SELECT format('inherits from role %s', quote_ident(g.rolname)) FROM pg_roles g
      WHERE g.oid <> r.oid AND g.rolname <> 'pg_database_owner' AND pg_has_role(r.oid, g.oid, 'USAGE')
     UNION ALL SELECT format('may grant role %s', quote_ident(g.rolname)) FROM pg_roles g
      WHERE g.oid <> r.oid AND pg_has_role(r.oid, g.oid, 'USAGE WITH ADMIN OPTION')
     UNION ALL SELECT format('owns database %I', d.datname) FROM pg_database d WHERE d.datdba = r.oid AND d.datname <> current_database()
     -- Where it has the right to connect it needs none of its functions for that.
     UNION ALL SELECT CASE d.datname WHEN current_database() THEN 'may make schemas in the database' ELSE format('may make schemas in database %I', d.datname) END
       FROM pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a WHERE a.grantee = r.oid AND a.privilege_type = 'CREATE'
     UNION ALL SELECT format('owns schema %I', n.nspname) FROM pg_namespace n
      WHERE n.nspowner = r.oid AND n.nspname IN ('pg_catalog', 'information_schema', 'shardid')
     UNION ALL SELECT format('may make things in schema %I', n.nspname) FROM pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
      WHERE a.grantee = r.oid AND a.privilege_type = 'CREATE' AND n.nspname IN ('pg_catalog', 'information_schema', 'shardid')
     -- What else is PostgreSQL's, the extension's or the whole server's.
     UNION ALL SELECT format('%s %s', CASE s.deptype WHEN 'o' THEN 'owns' ELSE 'has rights on' END, pg_describe_object(s.classid, s.objid, 0))
       FROM pg_shdepend s
      WHERE s.refclassid = 'pg_authid'::regclass AND s.refobjid = r.oid AND s.deptype IN ('a', 'o')
        AND CASE s.dbid WHEN 0 THEN s.classid <> 'pg_database'::regclass
                        WHEN (SELECT oid FROM pg_database WHERE datname = current_database())
                        THEN (pg_identify_object(s.classid, s.objid, 0)).schema IN ('pg_catalog', 'information_schema', 'shardid')
                             -- Ways out of the database.
                             OR s.classid IN ('pg_foreign_server'::regclass, 'pg_foreign_data_wrapper'::regclass, 'pg_user_mapping'::regclass)
                             OR s.classid = 'pg_language'::regclass AND EXISTS (SELECT FROM pg_language l WHERE l.oid = s.objid AND NOT l.lanpltrusted)
                        ELSE false END
 ) AS p (power)
 WHERE EXISTS (SELECT FROM pg_roles o WHERE o.rolname = ANY ($1::text[]) AND pg_has_role(o.oid, r.oid, 'MEMBER') AND (NOT o.rolsuper OR o.oid = r.oid))
   AND (NOT r.rolsuper OR p.power = 'is a superuser')
UNION
SELECT 'PUBLIC', format('may make schemas in database %I', d.datname), false
  FROM pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
 WHERE a.grantee = 0 AND a.privilege_type = 'CREATE' AND d.datname = current_database()
 ORDER BY 1, 2
