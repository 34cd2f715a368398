-- Has functions of others that a statement of ours comes upon, as an index or a CHECK calls them, run with the
-- rights of their owners, not with those of a superuser, and no view or foreign table of others read at all. A statement
-- names nothing of others unless it is said on whose behalf it is. A server
-- without the library has none of our shards, and one with an older library does not know the setting: what needs it asks for it.
DO $do$
BEGIN
    IF NOT (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = current_user) THEN
        RETURN;
    END IF;
    BEGIN
        -- Minor versions before August 2024 have it not.
        PERFORM pg_catalog.set_config('restrict_nonsystem_relation_kind', 'view, foreign-table', false);
    EXCEPTION
        WHEN undefined_object THEN
            NULL;
    END;
    BEGIN
        LOAD '$libdir/shardid';
        PERFORM pg_catalog.set_config('shardid.functions_run_as_owner', 'on', false);
        PERFORM pg_catalog.set_config('shardid.on_behalf_of', 'none', false);
    EXCEPTION
        WHEN undefined_file OR undefined_object OR invalid_name THEN
            NULL;
    END;
END
$do$
