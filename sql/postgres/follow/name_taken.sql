-- Whether a role has the name of a stream ($1) for which PostgreSQL 15 needs one, and no subscription belongs to it: whoever
-- may make roles can see the name before the stream is there.
SELECT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = $1
                  AND NOT EXISTS (SELECT FROM pg_subscription s WHERE s.subowner = r.oid))
       AND current_setting('server_version_num')::integer < 160000 AS is_taken
