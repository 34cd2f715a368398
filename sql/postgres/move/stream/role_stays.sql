-- Whether the role that was made for a stream ($1) is still there, and serves none.
SELECT EXISTS (SELECT FROM pg_roles r
                WHERE r.rolname = $1 AND r.rolname ~ '^shardid_(move|back)_[0-9]+$'
                  AND NOT EXISTS (SELECT FROM pg_subscription s WHERE s.subowner = r.oid)) AS stays
