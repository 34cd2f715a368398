-- The roles by which others follow databases of this server: whether each may connect to
-- this one by a grant of its own; whether it has what it needs and no more, nobody else
-- has a part in it, and its sessions are as they should be; and what the server keeps of its secret.
SELECT r.rolname::text AS role,
       EXISTS (SELECT FROM pg_database d, aclexplode(d.datacl) a
                WHERE d.datname = current_database() AND a.grantee = r.oid AND a.privilege_type = 'CONNECT') AS here,
       r.rolcanlogin AND r.rolreplication AND r.rolbypassrls AND r.rolinherit
           AND NOT (r.rolsuper OR r.rolcreaterole OR r.rolcreatedb)
           AND r.rolconnlimit = -1 AND coalesce(r.rolvaliduntil = 'infinity', true)
           AND ARRAY(SELECT m.roleid FROM pg_auth_members m WHERE m.member = r.oid) = ARRAY['pg_read_all_data'::regrole::oid]
           AND NOT EXISTS (SELECT FROM pg_auth_members m WHERE m.roleid = r.oid)
           AND ARRAY(SELECT format('%s %s', s.setdatabase, said) FROM pg_db_role_setting s, unnest(s.setconfig) AS said WHERE s.setrole = r.oid ORDER BY 1)
               = ARRAY(SELECT format('0 %s=%s', s.name, s.value) FROM setting s ORDER BY 1)
           AND NOT EXISTS (SELECT FROM pg_shdepend d WHERE d.refclassid = 'pg_authid'::regclass AND d.refobjid = r.oid AND d.deptype = 'o') AS sound,
       r.rolpassword AS verifier
  FROM pg_authid r
 WHERE starts_with(r.rolname, $1)
