-- Whether this user may make functions where there is a binary log: by a privilege of its
-- own, which MariaDB has two of.
SELECT count(*) > 0 AS may_create FROM information_schema.user_privileges p
WHERE p.privilege_type IN ('SUPER', 'BINLOG ADMIN')
  AND p.grantee = concat('''', substring_index(current_user(), '@', 1), '''@''', substring_index(current_user(), '@', -1), '''')
