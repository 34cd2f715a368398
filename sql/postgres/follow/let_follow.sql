-- Makes a role ($1) by which a node ($2) follows this database, with no secret yet: it may log
-- in, replicate, and read what is to be copied, and policies keep no rows from it. One that is
-- there and not sound goes first, with all that was granted to it and by it. It reads no view and no foreign table: a copy
-- reads by name, and whoever may make things in the schema could put one there, whose functions would run as it.
SELECT statement FROM (
    SELECT DISTINCT 1 AS step, format('REVOKE ALL ON DATABASE %I FROM %I', d.datname, $1::text) AS statement
      FROM pg_database d, aclexplode(d.datacl) a, pg_roles r
     WHERE r.rolname = $1 AND a.grantee = r.oid
    UNION ALL
    SELECT step, format(statement, $1::text, current_database(), format('shardid: node %s follows by it', $2::text))
      FROM (VALUES
          (2, 'DROP ROLE IF EXISTS %1$I'),
          (3, 'CREATE ROLE %1$I LOGIN REPLICATION BYPASSRLS'),
          (4, 'GRANT pg_read_all_data TO %1$I'),
          (5, 'GRANT CONNECT ON DATABASE %2$I TO %1$I'),
          (6, 'COMMENT ON ROLE %1$I IS %3$L')) AS steps(step, statement)
    UNION ALL
    SELECT 7, format('ALTER ROLE %I SET %I = %L', $1::text, s.name, s.value) FROM setting s
) AS steps
 ORDER BY step
