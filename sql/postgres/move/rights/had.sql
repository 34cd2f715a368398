-- Which roles of this server have privileges ($2) on what ($1) that are granted to some roles ($3), since they are one of them
-- or a member; and which may have them by SET ROLE alone, or by a GRANT to themselves. Not what PUBLIC has, nor superusers, who have it all.
WITH granted (what, privilege, role) AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
), granted_to (oid, role) AS (
    SELECT r.oid, r.rolname::text FROM pg_roles r WHERE r.rolname IN (SELECT role FROM granted)
), member (role, of, has) AS (
    SELECT m.rolname::text, g.role, g.has
      FROM pg_roles m
     -- One member after the other: the server keeps of whom the last one is a member.
     CROSS JOIN LATERAL (
         SELECT g.role, pg_has_role(m.oid, g.oid, 'USAGE') AS has,
                -- From 16 on one may be a member that may do neither.
                pg_has_role(m.oid, g.oid, CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END)
                -- Who may grant a role may grant it to himself.
                OR pg_has_role(m.oid, g.oid, 'USAGE WITH ADMIN OPTION') AS may
           FROM granted_to g OFFSET 0
     ) AS g
     WHERE NOT m.rolsuper AND (g.has OR g.may)
)
SELECT quote_ident(m.role) AS role, g.what, g.privilege, bool_or(m.has) AS has,
       -- By which of them: a direct grant first.
       quote_ident((array_agg(m.of ORDER BY m.has DESC, m.of <> m.role, m.of))[1]) AS by
  FROM granted g JOIN member m ON m.of = g.role
 WHERE NOT EXISTS (SELECT FROM granted p WHERE p.role IS NULL AND p.what = g.what AND p.privilege = g.privilege)
 GROUP BY m.role, g.what, g.privilege
