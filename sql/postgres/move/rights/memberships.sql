-- Of which roles some roles ($1) are members, by themselves or by others: each member, of which, and whether it inherits from it.
WITH RECURSIVE above (oid) AS (
    SELECT oid FROM pg_roles WHERE quote_ident(rolname) = ANY ($1::text[])
    UNION
    SELECT m.roleid FROM above a JOIN pg_auth_members m ON m.member = a.oid
)
SELECT quote_ident(r.rolname) AS member, quote_ident(g.rolname) AS of,
       -- From 16 on each membership says it, and before that the member.
       bool_or(coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, r.rolinherit)) AS inherits
  FROM above a
  JOIN pg_auth_members m ON m.member = a.oid
  JOIN pg_roles r ON r.oid = m.member
  JOIN pg_roles g ON g.oid = m.roleid
 -- From 16 on it may be the right to grant alone.
 WHERE coalesce((to_jsonb(m) ->> 'inherit_option')::boolean OR (to_jsonb(m) ->> 'set_option')::boolean, true)
 GROUP BY 1, 2
