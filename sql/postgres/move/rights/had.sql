-- Which roles of this server have privileges ($2) on what ($1) that are granted to some roles ($3), since they are one of them
-- or a member; and which may have them by SET ROLE alone, or by a GRANT to themselves. Not what PUBLIC has, nor superusers, who have it all.
-- So with what no role is granted, and no member inherits: to pass by policies, where there are any ($4), and to be a superuser. And
-- with the right to grant one of those roles to others. $5: whether both servers are ones on which who makes roles may grant all, which
-- from 16 on is so with none.
WITH granted (what, privilege, role) AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
), granted_to (oid, rolsuper, role, what, privilege) AS (
    SELECT r.oid, r.rolsuper, r.rolname::text, NULL, NULL FROM pg_roles r WHERE r.rolname IN (SELECT role FROM granted)
    UNION ALL
    SELECT r.oid, false, r.rolname::text, 'tables with policies', 'BYPASSRLS' FROM pg_roles r WHERE $4::boolean AND r.rolbypassrls AND NOT r.rolsuper
    UNION ALL
    SELECT r.oid, true, r.rolname::text, 'all that there is', 'SUPERUSER' FROM pg_roles r WHERE r.rolsuper
), member (role, of, of_what, of_privilege, has, grants) AS (
    SELECT m.rolname::text, g.role, g.what, g.privilege, g.has, g.grants
      FROM pg_roles m
     -- One member after the other: the server keeps of whom the last one is a member.
     CROSS JOIN LATERAL (
         SELECT g.role, g.what, g.privilege,
                CASE WHEN g.what IS NULL THEN pg_has_role(m.oid, g.oid, 'USAGE') ELSE m.oid = g.oid END AS has,
                -- From 16 on one may be a member that may do neither.
                pg_has_role(m.oid, g.oid, CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END)
                -- Who may grant a role may grant it to himself. Who makes roles, or may be one who does, may grant all but superusers.
                OR pg_has_role(m.oid, g.oid, 'USAGE WITH ADMIN OPTION')
                OR $5::boolean AND NOT g.rolsuper AND EXISTS (SELECT FROM pg_roles k WHERE k.rolcreaterole AND pg_has_role(m.oid, k.oid, 'MEMBER')) AS may,
                m.oid <> g.oid AND pg_has_role(m.oid, g.oid, 'USAGE WITH ADMIN OPTION') AS grants
           FROM granted_to g OFFSET 0
     ) AS g
     WHERE NOT m.rolsuper AND (g.has OR g.may)
), had (role, what, privilege, has, of) AS (
    SELECT m.role, g.what, g.privilege, m.has, m.of FROM granted g JOIN member m ON m.of = g.role AND m.of_what IS NULL
    UNION ALL
    SELECT m.role, m.of_what, m.of_privilege, m.has, m.of FROM member m WHERE m.of_what IS NOT NULL
    UNION ALL
    SELECT m.role, 'role ' || quote_ident(m.of), 'ADMIN OPTION', true, m.of FROM member m WHERE m.grants
)
SELECT quote_ident(h.role) AS role, h.what, h.privilege, bool_or(h.has) AS has,
       -- By which of them: a direct grant first.
       quote_ident((array_agg(h.of ORDER BY h.has DESC, h.of <> h.role, h.of))[1]) AS by
  FROM had h
 WHERE NOT EXISTS (SELECT FROM granted p WHERE p.role IS NULL AND p.what = h.what AND p.privilege = h.privilege)
 GROUP BY h.role, h.what, h.privilege
