-- Has functions of others that a statement of ours comes upon, as an index or a CHECK calls them, run with the
-- rights of their owners, not with those of a superuser, and no view or foreign table of others read at all. A statement
-- names nothing of others unless it is said on whose behalf it is. A server
-- without the library has none of our shards, and one with an older library does not know the setting: what needs it asks for it.
-- A schema of our name that no superuser owns has nothing of ours, and nothing of it is read; nor of a catalog that no superuser
-- owns, which may be one of the program's all the same, from before it was one.
DO $do$
DECLARE
    stranger name;
    mend text;
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
END
$do$
