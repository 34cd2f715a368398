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
         AND coalesce(current_setting('shardid.functions_run_as_owner', true), 'off') <> 'on',
     'the library of the extension shardid is older than this program',
     'install the new one there, then `shardid apply`'),
    (pg_is_in_recovery(), 'the server is a standby', 'name the primary in the cluster file')
) AS checks(fails, problem, hint)
 WHERE fails
