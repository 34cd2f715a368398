-- Has a catalog that was made by a superuser show that (session/functions_as_owners.sql). It goes with the tables, wherever they are
-- put, and comes with a dump of them.
DO $do$
BEGIN
    IF (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = current_user) THEN
        CREATE FUNCTION shardid.made_by_superuser(shardid.catalog, shardid.leftover, shardid.map, shardid.move) RETURNS boolean
            LANGUAGE sql IMMUTABLE LEAKPROOF AS 'SELECT true';
        COMMENT ON FUNCTION shardid.made_by_superuser(shardid.catalog, shardid.leftover, shardid.map, shardid.move)
            IS 'the catalog is of superusers alone: only they can make this';
    END IF;
END
$do$
