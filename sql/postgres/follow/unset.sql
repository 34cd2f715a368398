-- Of what is said of a role ($1) that follows, what it is without, as where an earlier program made it; or that something is said of it in
-- a database, which counts more.
SELECT string_agg(s.name, ', ' ORDER BY s.name) AS names
  FROM setting s
 WHERE NOT EXISTS (
    SELECT FROM pg_db_role_setting d JOIN pg_roles r ON r.oid = d.setrole
     WHERE r.rolname = $1 AND d.setdatabase = 0 AND format('%s=%s', s.name, s.value) = ANY (d.setconfig)
       AND NOT EXISTS (SELECT FROM pg_db_role_setting o WHERE o.setrole = r.oid AND o.setdatabase <> 0))
HAVING count(*) > 0
