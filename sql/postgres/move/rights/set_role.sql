-- Who may be which other role by SET ROLE, quoted: policies go by the role that one is, whatever rights both have.
WITH RECURSIVE may_be (role, of) AS (
    SELECT m.member, m.roleid FROM pg_auth_members m WHERE coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
    UNION
    SELECT b.role, m.roleid FROM may_be b JOIN pg_auth_members m ON m.member = b.of
     WHERE coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
)
SELECT quote_ident(r.rolname) AS role, quote_ident(o.rolname) AS of
  FROM may_be b JOIN pg_roles r ON r.oid = b.role JOIN pg_roles o ON o.oid = b.of
 WHERE NOT r.rolsuper AND NOT o.rolsuper
