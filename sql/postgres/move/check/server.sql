-- What a server must have to publish and to subscribe: $1 more slots.
SELECT problem, hint FROM (VALUES
    (current_setting('server_version_num')::integer < 150000,
     format('PostgreSQL %s cannot publish a schema', current_setting('server_version')),
     'moves need PostgreSQL 15 or later'),
    (current_setting('wal_level') <> 'logical',
     format('wal_level is %s, and a move needs logical', current_setting('wal_level')),
     'ALTER SYSTEM SET wal_level = logical; then restart the server'),
    (current_setting('max_replication_slots')::integer
        - (SELECT count(*) FROM pg_replication_slots) < $1::integer,
     format('%s of %s replication slots are taken, and a move needs %s',
            (SELECT count(*) FROM pg_replication_slots), current_setting('max_replication_slots'), $1::integer),
     'raise max_replication_slots and restart, or drop a slot nobody uses: SELECT * FROM pg_replication_slots'),
    (current_setting('max_wal_senders')::integer
        - (SELECT count(*) FROM pg_stat_replication) < $1::integer,
     format('max_wal_senders is %s, and %s are busy', current_setting('max_wal_senders'),
            (SELECT count(*) FROM pg_stat_replication)),
     'raise max_wal_senders and restart'),
    (current_setting('max_logical_replication_workers')::integer < 2,
     format('max_logical_replication_workers is %s, and a move needs 2', current_setting('max_logical_replication_workers')),
     'raise max_logical_replication_workers and restart'),
    (NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
     format('role %s is not a superuser, which a publication of a schema needs', current_user),
     'connect as a superuser for moves'),
    (pg_is_in_recovery(), 'the server is a standby', 'name the primary in the cluster file')
) AS checks(fails, problem, hint)
 WHERE fails
