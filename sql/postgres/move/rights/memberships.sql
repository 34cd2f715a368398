-- Of which roles some roles ($1) are members, by themselves or by others: each member, of which, whether it inherits from it, and what
-- takes the membership from it, or that it inherits where this is said of each membership, as from 16 on: there it goes as whoever has
-- granted it, and others may have granted it as well.
WITH RECURSIVE above (oid) AS (
    SELECT oid FROM pg_roles WHERE quote_ident(rolname) = ANY ($1::text[])
    UNION
    SELECT m.roleid FROM above a JOIN pg_auth_members m ON m.member = a.oid
)
SELECT quote_ident(r.rolname) AS member, quote_ident(g.rolname) AS of,
       bool_or(coalesce(o.inherits, r.rolinherit)) AS inherits,
       string_agg(format('REVOKE %I FROM %I%s;', g.rolname, r.rolname, o.granted_by), ' ' ORDER BY o.granted_by) AS revoke,
       string_agg(format('REVOKE INHERIT OPTION FOR %I FROM %I%s;', g.rolname, r.rolname, o.granted_by), ' ' ORDER BY o.granted_by)
           FILTER (WHERE o.inherits) AS disinherit
  FROM above a
  JOIN pg_auth_members m ON m.member = a.oid
  JOIN pg_roles r ON r.oid = m.member
  JOIN pg_roles g ON g.oid = m.roleid
 CROSS JOIN LATERAL (SELECT (to_jsonb(m) ->> 'inherit_option')::boolean, (to_jsonb(m) ->> 'set_option')::boolean,
                            CASE WHEN to_jsonb(m) ? 'inherit_option' THEN format(' GRANTED BY %I', pg_get_userbyid(m.grantor)) ELSE '' END
       ) AS o (inherits, sets, granted_by)
 -- From 16 on it may be the right to grant alone.
 WHERE coalesce(o.inherits OR o.sets, true)
 GROUP BY 1, 2
