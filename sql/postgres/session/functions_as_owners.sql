-- Has functions of others that a statement of ours comes upon, as an index or a CHECK calls them, run with the
-- rights of their owners, not with those of a superuser, and no view or foreign table of others read at all. A statement
-- names nothing of others unless it is said on whose behalf it is. A server
-- without the library has none of our shards, and one with an older library does not know the setting: what needs it asks for it.
-- A schema of our name that no superuser owns has nothing of ours, and nothing of it is read; nor of a catalog that no superuser
-- owns, which may be one of the program's all the same, from before it was one; nor of one that was given to a superuser with
-- what its owner had it do: the program's own has no trigger and no rule, and calls nothing but what PostgreSQL brings and is
-- not volatile.
DO $do$
DECLARE
    stranger name;
    mend text;
    hanging text;
BEGIN
    IF NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = current_user) THEN
        RETURN;
    END IF;
    PERFORM pg_catalog.set_config(s.name, 'view, foreign-table', false)
       FROM pg_catalog.pg_settings s WHERE s.name = 'restrict_nonsystem_relation_kind';
    BEGIN
        LOAD '$libdir/shardid';
        PERFORM pg_catalog.set_config('shardid.functions_run_as_owner', 'on', false);
        PERFORM pg_catalog.set_config('shardid.on_behalf_of', 'none', false);
    EXCEPTION
        WHEN undefined_file OR undefined_object OR invalid_name THEN
            NULL;
    END;
    SELECT o.rolname INTO stranger FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles o ON o.oid = n.nspowner
     WHERE n.nspname = 'shardid' AND NOT o.rolsuper;
    IF FOUND THEN
        RAISE EXCEPTION 'schema shardid is role %''s, and not the extension''s', stranger
            USING ERRCODE = '55000', HINT = '`ALTER SCHEMA shardid RENAME TO ...;` there, if it is somebody''s';
    END IF;
    SELECT o.rolname,
           pg_catalog.format('REVOKE CREATE ON SCHEMA shardid FROM %I; CREATE SCHEMA shardid_before; ', o.rolname)
           || pg_catalog.string_agg(pg_catalog.format('ALTER TABLE %s SET SCHEMA shardid_before;', c.oid::pg_catalog.regclass), ' ' ORDER BY c.relname)
      INTO stranger, mend
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_roles o ON o.oid = c.relowner
     WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = 'shardid') AND c.relkind = 'r' AND NOT o.rolsuper
     GROUP BY o.rolname
    HAVING pg_catalog.count(*) FILTER (WHERE c.relname IN ('catalog', 'map', 'move', 'leftover')) = 4;
    IF FOUND THEN
        RAISE EXCEPTION 'the catalog in schema shardid is of role %, which is no superuser, and a superuser reads nothing of that', pg_catalog.quote_ident(stranger)
            USING ERRCODE = '55000', HINT = pg_catalog.format('connect as that role again, or put the catalog away, since its owner may have had it do more: `%s` there, and `shardid catalog rebuild` makes it from the nodes', mend);
    END IF;
    WITH relation AS (
        SELECT c.oid, c.relkind, c.relname
          FROM pg_catalog.pg_class c
         WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = 'shardid') AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e WHERE e.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND e.objid = c.oid AND e.deptype = 'e')
    ), expression AS (
        SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass AS class, k.oid, k.conbin::text AS tree
          FROM pg_catalog.pg_constraint k WHERE k.conrelid IN (SELECT r.oid FROM relation r)
         UNION ALL
        SELECT 'pg_catalog.pg_attrdef', a.oid, a.adbin::text
          FROM pg_catalog.pg_attrdef a WHERE a.adrelid IN (SELECT r.oid FROM relation r)
         UNION ALL
        SELECT 'pg_catalog.pg_class', i.indexrelid, pg_catalog.concat(i.indexprs, i.indpred)
          FROM pg_catalog.pg_index i WHERE i.indrelid IN (SELECT r.oid FROM relation r)
         UNION ALL
        SELECT 'pg_catalog.pg_class', r.oid, '' FROM relation r
    ), strange AS (
        SELECT 'pg_catalog.pg_class'::pg_catalog.regclass AS class, r.oid FROM relation r WHERE r.relkind <> 'r'
         UNION ALL
        SELECT 'pg_catalog.pg_trigger', t.oid FROM pg_catalog.pg_trigger t WHERE t.tgrelid IN (SELECT r.oid FROM relation r) AND NOT t.tgisinternal
         UNION ALL
        SELECT 'pg_catalog.pg_rewrite', w.oid FROM pg_catalog.pg_rewrite w WHERE w.ev_class IN (SELECT r.oid FROM relation r)
         UNION ALL
        SELECT 'pg_catalog.pg_class', h.inhrelid FROM pg_catalog.pg_inherits h WHERE h.inhparent IN (SELECT r.oid FROM relation r)
         UNION ALL
        SELECT e.class, e.oid FROM expression e
         WHERE EXISTS (SELECT FROM pg_catalog.regexp_matches(e.tree, ':(?:funcid|opfuncid|aggfnoid|winfnoid) ([0-9]+)', 'g') AS m (part)
                         JOIN pg_catalog.pg_proc p ON p.oid = m.part[1]::pg_catalog.oid
                        WHERE p.provolatile = 'v' AND p.oid <> 'pg_catalog.clock_timestamp()'::pg_catalog.regprocedure)
            OR EXISTS (SELECT FROM pg_catalog.pg_depend d
                        WHERE d.classid = e.class AND d.objid = e.oid
                          AND d.refclassid NOT IN ('pg_catalog.pg_class'::pg_catalog.regclass, 'pg_catalog.pg_constraint'::pg_catalog.regclass,
                                                   'pg_catalog.pg_namespace'::pg_catalog.regclass, 'pg_catalog.pg_collation'::pg_catalog.regclass))
    )
    SELECT (SELECT pg_catalog.pg_describe_object(s.class, s.oid, 0) FROM strange s LIMIT 1),
           'CREATE SCHEMA shardid_before; '
           || pg_catalog.string_agg(pg_catalog.format('ALTER TABLE %s SET SCHEMA shardid_before;', r.oid::pg_catalog.regclass), ' ' ORDER BY r.relname)
      INTO hanging, mend
      FROM relation r
    HAVING pg_catalog.count(*) FILTER (WHERE r.relname IN ('catalog', 'map', 'move', 'leftover')) = 4;
    IF hanging IS NOT NULL THEN
        RAISE EXCEPTION 'the catalog in schema shardid has what the program has not made: %; a superuser does nothing there that it may change or run at', hanging
            USING ERRCODE = '55000', HINT = pg_catalog.format('drop that; or put the catalog away, where it was another role''s who may have had it do more: `%s` there, and `shardid catalog rebuild` makes it from the nodes', mend);
    END IF;
END
$do$
