-- Which privileges on schema shardid the routines, triggers and views need that are made by this user, and he has not
-- by himself. MariaDB runs them with the rights of their definer, and leaves out those of his roles.
SELECT CAST(n.needed AS CHAR) AS privilege
FROM (SELECT 1 AS place, 'SELECT' AS needed UNION ALL SELECT 2, 'INSERT' UNION ALL SELECT 3, 'UPDATE' UNION ALL SELECT 4, 'DELETE'
      UNION ALL SELECT 5, 'CREATE' UNION ALL SELECT 6, 'DROP' UNION ALL SELECT 7, 'ALTER' UNION ALL SELECT 8, 'EXECUTE'
      UNION ALL SELECT 9, 'TRIGGER') n
CROSS JOIN (SELECT concat('''', left(u.me, char_length(u.me) - char_length(substring_index(u.me, '@', -1)) - 1), '''@''',
                          substring_index(u.me, '@', -1), '''') AS grantee
            FROM (SELECT current_user() AS me) u) own
WHERE NOT EXISTS (SELECT 1 FROM information_schema.user_privileges p
                  WHERE p.grantee = own.grantee AND p.privilege_type = n.needed)
  AND NOT EXISTS (SELECT 1 FROM information_schema.schema_privileges p
                  WHERE p.grantee = own.grantee AND p.privilege_type = n.needed AND 'shardid' LIKE p.table_schema)
ORDER BY n.place
