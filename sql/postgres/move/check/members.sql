-- Who has the rights of roles ($1), or may take them, by being a member of them: role, of which, and how. A superuser
-- needs none of it, and who owns the database is a member of pg_database_owner without a word.
SELECT quote_ident(m.rolname) AS role, quote_ident(g.rolname) AS of, CASE WHEN has.rights THEN 'has the rights of' ELSE 'may become' END AS how
  FROM pg_roles g JOIN pg_roles m ON m.oid <> g.oid AND NOT m.rolsuper
 CROSS JOIN LATERAL (
    SELECT pg_has_role(m.oid, g.oid, 'USAGE') AS rights,
           -- From 16 on one may be a member that may do neither.
           pg_has_role(m.oid, g.oid, CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END) AS other) AS has
 WHERE g.rolname = ANY ($1::text[]) AND g.rolname <> 'pg_database_owner' AND (has.rights OR has.other)
 ORDER BY 1, 2
