-- Whether sessions of a role ($1) may read views of others, as where an earlier program made it: functions of those would
-- run as that role.
SELECT NOT EXISTS (
    SELECT FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole
     WHERE r.rolname = $1 AND s.setdatabase = 0 AND s.setconfig = ARRAY['restrict_nonsystem_relation_kind=view, foreign-table']
       AND NOT EXISTS (SELECT FROM pg_db_role_setting o WHERE o.setrole = r.oid AND o.setdatabase <> 0)) AS reads_views
