-- What of a schema ($1) a move back does not carry, in words that mean the same
-- on both nodes: kind and name, and a hash of what it is.
WITH here AS (
    SELECT oid FROM pg_namespace WHERE nspname = $1
)
SELECT kind, name, md5(definition) AS hash FROM (
    SELECT 'function' AS kind, p.oid::regprocedure::text AS name,
           concat(CASE WHEN p.prokind <> 'a' THEN pg_get_functiondef(p.oid) END, p.proacl::text, obj_description(p.oid, 'pg_proc')) AS definition
      FROM pg_proc p WHERE p.pronamespace = (TABLE here)
    UNION ALL
    SELECT 'view', c.oid::regclass::text, concat(pg_get_viewdef(c.oid), c.reloptions::text)
      FROM pg_class c WHERE c.relnamespace = (TABLE here) AND c.relkind = 'v'
    UNION ALL
    SELECT 'the owner, privileges or comment of', c.oid::regclass::text,
           concat_ws(' ', c.relowner::regrole, (SELECT string_agg(x, ',' ORDER BY x) FROM unnest(c.relacl::text[]) AS x),
                     obj_description(c.oid, 'pg_class'),
                     (SELECT string_agg(concat(a.attname, a.attacl::text, col_description(c.oid, a.attnum)), ',' ORDER BY a.attname)
                        FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
      FROM pg_class c WHERE c.relnamespace = (TABLE here) AND c.relkind IN ('r', 'p', 'v', 'S')
    UNION ALL
    SELECT 'trigger', format('%I on %s', t.tgname, t.tgrelid::regclass), concat(pg_get_triggerdef(t.oid), t.tgenabled)
      FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE c.relnamespace = (TABLE here) AND NOT t.tgisinternal AND t.tgname <> 'shardid_fence'
    UNION ALL
    SELECT 'policy', format('%I on %s', p.polname, p.polrelid::regclass),
           concat_ws(' ', p.polcmd, p.polpermissive, p.polroles::regrole[]::text, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
      FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = (TABLE here)
    UNION ALL
    SELECT 'the owner or privileges of schema', quote_ident(n.nspname), concat_ws(' ', n.nspowner::regrole, (SELECT string_agg(x, ',' ORDER BY x) FROM unnest(n.nspacl::text[]) AS x))
      FROM pg_namespace n WHERE n.oid = (TABLE here)
  ) AS things
