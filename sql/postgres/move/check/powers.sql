-- What roles ($1) may do on this server beside what they were granted on objects: their functions may do it too.
SELECT r.rolname::text AS role, p.power
  FROM pg_roles r
 CROSS JOIN LATERAL (
     SELECT 'is a superuser' WHERE r.rolsuper
     UNION ALL SELECT 'may make roles' WHERE r.rolcreaterole
     UNION ALL SELECT 'may make databases' WHERE r.rolcreatedb
     UNION ALL SELECT 'may replicate' WHERE r.rolreplication
     UNION ALL SELECT 'sees past row level security' WHERE r.rolbypassrls
     UNION ALL SELECT 'owns the database' FROM pg_database d WHERE d.datdba = r.oid AND d.datname = current_database()
     UNION ALL SELECT format('stands for role %s, as the owner of the database', quote_ident(pg_get_userbyid(d.datdba)))
       FROM pg_database d WHERE r.rolname = 'pg_database_owner' AND d.datname = current_database()
     UNION ALL SELECT format('is a member of role %s', quote_ident(g.rolname)) FROM pg_roles g
      WHERE NOT r.rolsuper AND g.oid <> r.oid AND g.rolname <> 'pg_database_owner' AND pg_has_role(r.oid, g.oid, 'MEMBER')
 ) AS p (power)
 WHERE r.rolname = ANY ($1::text[])
 ORDER BY 1, 2
