-- What a server must have to publish and to subscribe; how much, capacity.sql tells.
SELECT problem, hint FROM (VALUES
    (current_setting('server_version_num')::integer < 150000,
     format('PostgreSQL %s cannot publish a schema', current_setting('server_version')),
     'moves need PostgreSQL 15 or later'),
    (current_setting('wal_level') <> 'logical',
     format('wal_level is %s, and a move needs logical', current_setting('wal_level')),
     'ALTER SYSTEM SET wal_level = logical; then restart the server'),
    (NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
     format('role %s is not a superuser, which a publication of a schema needs', current_user),
     'connect as a superuser for moves'),
    -- Otherwise code of those who own a schema would run with our rights.
    ((SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
         AND (current_setting('shardid.functions_run_as_owner', true) IS DISTINCT FROM 'on' OR current_setting('shardid.on_behalf_of', true) IS NULL),
     'the library of the extension shardid is older than this program',
     'install the new one there, then `shardid apply`'),
    (current_setting('restrict_nonsystem_relation_kind', true) IS NULL,
     format('PostgreSQL %s cannot keep a superuser from reading the views of others', current_setting('server_version')),
     'install the latest minor version there'),
    (pg_is_in_recovery(), 'the server is a standby', 'name the primary in the cluster file')
) AS checks(fails, problem, hint)
 WHERE fails
