-- Whether a role ($1, quoted) was made by the program: the role of a stream owns its subscription, and one by which a node follows
-- ($2: how its name begins) has attributes that only a superuser grants.
SELECT EXISTS (
    SELECT FROM pg_roles r
     WHERE quote_ident(r.rolname) = $1
       AND (EXISTS (SELECT FROM pg_subscription s WHERE s.subowner = r.oid)
            OR starts_with(r.rolname, $2) AND r.rolcanlogin AND r.rolreplication AND r.rolbypassrls
               AND EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid AND m.roleid = 'pg_read_all_data'::regrole))
) AS is_ours
