-- What of a schema ($1) a move back does not carry, in words that mean the same
-- on both nodes: its kind with its name, and what it is. What a role may by which a stream
-- ($2) is applied is gone when that ends; without it, rights that were never changed and those
-- that were written out are the same.
WITH here AS (
    SELECT oid FROM pg_namespace WHERE nspname = $1
), rights AS (
    SELECT classid, objid, string_agg(format('%s %s %s', a.grantee::regrole, a.privilege_type, a.is_grantable), ',' ORDER BY a.grantee::regrole::text, a.privilege_type) AS rights
      FROM (SELECT 'pg_class'::regclass AS classid, oid AS objid, coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, relowner)) AS acl
              FROM pg_class WHERE relnamespace = (TABLE here) AND relkind IN ('r', 'p', 'v', 'S')
            UNION ALL
            SELECT 'pg_proc'::regclass, oid, coalesce(proacl, acldefault('f', proowner)) FROM pg_proc WHERE pronamespace = (TABLE here)
            UNION ALL
            SELECT 'pg_namespace'::regclass, oid, coalesce(nspacl, acldefault('n', nspowner)) FROM pg_namespace WHERE oid = (TABLE here)) AS all_of_them,
           aclexplode(acl) AS a
     WHERE a.grantee NOT IN (SELECT oid FROM pg_roles WHERE rolname = $2)
       -- There from 17 on.
       AND a.privilege_type <> 'MAINTAIN'
     GROUP BY classid, objid
)
SELECT format('%s %s', kind, name) AS what, definition FROM (
    SELECT 'function' AS kind, p.oid::regprocedure::text AS name,
           concat(CASE WHEN p.prokind <> 'a' THEN pg_get_functiondef(p.oid) END, (SELECT rights FROM rights WHERE classid = 'pg_proc'::regclass AND objid = p.oid), obj_description(p.oid, 'pg_proc')) AS definition
      FROM pg_proc p WHERE p.pronamespace = (TABLE here)
    UNION ALL
    SELECT 'view', c.oid::regclass::text, concat(pg_get_viewdef(c.oid), c.reloptions::text)
      FROM pg_class c WHERE c.relnamespace = (TABLE here) AND c.relkind = 'v'
    UNION ALL
    SELECT 'the owner, privileges or comment of', c.oid::regclass::text,
           concat_ws(' ', c.relowner::regrole, (SELECT rights FROM rights WHERE classid = 'pg_class'::regclass AND objid = c.oid),
                     obj_description(c.oid, 'pg_class'),
                     (SELECT string_agg(concat(a.attname, a.attacl::text, col_description(c.oid, a.attnum)), ',' ORDER BY a.attname)
                        FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
      FROM pg_class c WHERE c.relnamespace = (TABLE here) AND c.relkind IN ('r', 'p', 'v', 'S')
    UNION ALL
    SELECT 'trigger', format('%I on %s', t.tgname, t.tgrelid::regclass), concat(pg_get_triggerdef(t.oid), t.tgenabled)
      FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE c.relnamespace = (TABLE here) AND NOT t.tgisinternal AND t.tgfoid IS DISTINCT FROM to_regprocedure('shardid.refuse_write()')
    UNION ALL
    SELECT 'policy', format('%I on %s', p.polname, p.polrelid::regclass),
           concat_ws(' ', p.polcmd, p.polpermissive, p.polroles::regrole[]::text, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
      FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = (TABLE here)
    UNION ALL
    SELECT 'the owner or privileges of schema', quote_ident(n.nspname), concat_ws(' ', n.nspowner::regrole, (SELECT rights FROM rights WHERE classid = 'pg_namespace'::regclass AND objid = n.oid))
      FROM pg_namespace n WHERE n.oid = (TABLE here)
  ) AS things
