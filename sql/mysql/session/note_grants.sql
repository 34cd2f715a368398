-- What is granted now on routines (kinds and names in lower case, in one text, ?).
REPLACE INTO shardid.kept_grant (user, host, routine_type, routine, privileges)
SELECT p.user, p.host, p.routine_type, p.routine_name, p.proc_priv
FROM mysql.procs_priv p
WHERE p.db = 'shardid' AND p.proc_priv <> '' AND find_in_set(lower(concat(p.routine_type, ' ', p.routine_name)), ?)
