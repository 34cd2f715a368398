-- Whether a role has the name of a stream ($1), which gets a role of its own, and no subscription belongs to it: whoever
-- may make roles can see the name before the stream is there.
SELECT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = $1
                  AND NOT EXISTS (SELECT FROM pg_subscription s WHERE s.subowner = r.oid)) AS is_taken
