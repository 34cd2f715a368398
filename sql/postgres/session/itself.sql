-- Has a session of the program be its own, where that is a superuser: not another role, as whoever owns the database may have its
-- sessions begin, out of which a function of his could go; and its words be PostgreSQL's own, not those of the server's language,
-- in which categories of settings and descriptions of objects are told, too.
DO $do$
BEGIN
    IF (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = session_user) THEN
        PERFORM pg_catalog.set_config('role', 'none', false);
        PERFORM pg_catalog.set_config('lc_messages', 'C', false);
    END IF;
END
$do$
