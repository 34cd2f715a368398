-- Has functions of others that a statement of ours comes upon, as an index or a CHECK calls them, run with the
-- rights of their owners, not with those of a superuser, and no view or foreign table of others read at all. A statement
-- names nothing of others unless it is said on whose behalf it is. A server
-- without the library has none of our shards, and one with an older library does not know the setting: what needs it asks for it.
-- A schema of our name that no superuser owns has nothing of ours, and nothing of it is read; nor of a catalog that no superuser
-- owns, which may be one of the program's all the same, from before it was one; nor of one that was given to a superuser, as by
-- REASSIGN OWNED, with all that its owner has put there. That a superuser has made it is shown by a function that takes rows of its
-- tables and is leakproof (catalog/made_by_superuser.sql): a plain role makes none.
DO $do$
DECLARE
    stranger text;
    refused text;
    mend text;
    types text;
    extension oid := (SELECT x.oid FROM pg_catalog.pg_extension x WHERE x.extname = 'shardid');
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
    -- What lies in the schema beside the extension may fit a call of ours better than what the extension has.
    SELECT pg_catalog.pg_describe_object(d.classid, d.objid, 0) INTO stranger
      FROM pg_catalog.pg_namespace n
      JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass AND d.refobjid = n.oid
      LEFT JOIN pg_catalog.pg_proc p ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND p.oid = d.objid
     WHERE n.nspname = 'shardid' AND d.deptype = 'n'
       AND d.classid NOT IN ('pg_catalog.pg_class'::pg_catalog.regclass, 'pg_catalog.pg_type'::pg_catalog.regclass, 'pg_catalog.pg_extension'::pg_catalog.regclass)
       AND (p.proname = 'made_by_superuser' AND p.proargtypes::pg_catalog.text ~ ' ') IS NOT TRUE
       AND (d.classid, d.objid) NOT IN (SELECT e.classid, e.objid FROM pg_catalog.pg_depend e
                                         WHERE e.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND e.refobjid = extension AND e.deptype = 'e')
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '%, in schema shardid, is none of the extension''s, and what a superuser calls there could be that instead', stranger
            USING ERRCODE = '55000', HINT = 'drop it there, or put it into another schema';
    END IF;
    -- One of the catalog's tables is enough: a name is changed soon, and whoever owns another extension may give a table to that.
    SELECT pg_catalog.string_agg(DISTINCT o.rolname, ', ') FILTER (WHERE NOT o.rolsuper),
           pg_catalog.string_agg(DISTINCT pg_catalog.format('REVOKE CREATE ON SCHEMA shardid FROM %I; ', o.rolname), '') FILTER (WHERE NOT o.rolsuper),
           pg_catalog.string_agg(pg_catalog.format('ALTER TABLE %s SET SCHEMA shardid_before;', c.oid::pg_catalog.regclass), ' ' ORDER BY c.relname),
           pg_catalog.string_agg(c.reltype::pg_catalog.text, ' ' ORDER BY c.relname) FILTER (WHERE c.relname IN ('catalog', 'leftover', 'map', 'move'))
      INTO stranger, refused, mend, types
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_roles o ON o.oid = c.relowner
     WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = 'shardid') AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND c.relname IN ('catalog', 'catalog_history', 'node', 'map', 'map_history', 'move', 'move_log', 'leftover', 'ticket_change', 'ticket_node', 'ticket_server')
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
                        WHERE e.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND e.objid = c.oid
                          AND e.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND e.refobjid = extension AND e.deptype = 'e')
    HAVING pg_catalog.count(*) > 0;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    mend := pg_catalog.format('`%sCREATE SCHEMA shardid_before; %s` there, and `shardid catalog rebuild` makes it from the nodes', refused, mend);
    IF stranger IS NOT NULL THEN
        RAISE EXCEPTION 'the catalog in schema shardid is of role %, which is no superuser, and a superuser reads nothing of that', pg_catalog.quote_ident(stranger)
            USING ERRCODE = '55000', HINT = 'connect as that role again, or put the catalog away, since its owner may have had it do more: ' || mend;
    END IF;
    PERFORM FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_roles o ON o.oid = p.proowner JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname = 'shardid' AND p.proname = 'made_by_superuser' AND p.proargtypes::pg_catalog.text = types AND p.proleakproof AND o.rolsuper;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'nothing shows that the catalog in schema shardid was made by a superuser, and one does nothing by what another role may have put there'
            USING ERRCODE = '55000', HINT = 'if none but superusers has ever owned it, as that of an earlier version of shardid: `CREATE FUNCTION shardid.made_by_superuser(shardid.catalog, shardid.leftover, shardid.map, shardid.move) RETURNS boolean LANGUAGE sql IMMUTABLE LEAKPROOF AS ''SELECT true''` there; if not, put the catalog away: ' || mend;
    END IF;
END
$do$
