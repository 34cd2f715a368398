-- Drops a role ($1) that nobody follows this database by any more, but for one by which
-- another database of this server is followed.
SELECT statement FROM (
    SELECT 1 AS step, format('REVOKE ALL ON DATABASE %I FROM %I', current_database(), r.rolname) AS statement
      FROM pg_roles r WHERE r.rolname = $1
    UNION ALL
    SELECT 2, format('DROP ROLE %I', r.rolname)
      FROM pg_roles r
     WHERE r.rolname = $1
       AND NOT EXISTS (SELECT FROM pg_database d, aclexplode(d.datacl) a
                        WHERE a.grantee = r.oid AND d.datname <> current_database())
) AS steps
 ORDER BY step
