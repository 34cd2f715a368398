-- What is granted now; what an earlier try has written down stays as it is.
INSERT IGNORE INTO shardid.kept_grant (user, host, routine_type, routine, privileges)
SELECT p.user, p.host, p.routine_type, p.routine_name, p.proc_priv
FROM mysql.procs_priv p WHERE p.db = 'shardid' AND p.proc_priv <> ''
