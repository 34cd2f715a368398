-- Which privileges on schema shardid those accounts lack whose rights the routines, triggers and views there run with. Of an
-- account that is not there nothing is said, nor to whom the server does not tell what it may do. On MySQL the
-- roles of an account count that are active when it logs in; where the server gives roles to everybody, nothing is said. On MariaDB,
-- what this user lacks itself is asked by own_rights.sql.
WITH RECURSIVE made AS (
    SELECT r.definer FROM information_schema.routines r WHERE r.routine_schema = 'shardid'
    UNION SELECT t.definer FROM information_schema.triggers t WHERE t.trigger_schema = 'shardid'
    UNION SELECT v.definer FROM information_schema.views v WHERE v.table_schema = 'shardid'
),
active AS (
    SELECT m.definer, left(m.definer, char_length(m.definer) - char_length(substring_index(m.definer, '@', -1)) - 1) AS user,
           substring_index(m.definer, '@', -1) AS host
    FROM made m
    /*!80000
    UNION
    SELECT a.definer, e.from_user, e.from_host
    FROM active a JOIN mysql.role_edges e ON e.to_user = a.user AND e.to_host = a.host
    WHERE a.definer <> concat(a.user, '@', a.host) OR @@GLOBAL.activate_all_roles_on_login
       OR EXISTS (SELECT 1 FROM mysql.default_roles d
                  WHERE d.user = a.user AND d.host = a.host AND d.default_role_user = e.from_user AND d.default_role_host = e.from_host)
    */
),
needed AS (
    SELECT 1 AS place, 'SELECT' AS privilege UNION ALL SELECT 2, 'INSERT' UNION ALL SELECT 3, 'UPDATE' UNION ALL SELECT 4, 'DELETE'
    UNION ALL SELECT 5, 'CREATE' UNION ALL SELECT 6, 'DROP' UNION ALL SELECT 7, 'ALTER' UNION ALL SELECT 8, 'EXECUTE'
    UNION ALL SELECT 9, 'TRIGGER'
)
SELECT CAST(concat(quote(o.user), '@', quote(o.host)) AS CHAR) AS user, CAST(n.privilege AS CHAR) AS privilege
FROM active o CROSS JOIN needed n
WHERE o.definer = concat(o.user, '@', o.host)
  AND EXISTS (SELECT 1 FROM information_schema.user_privileges p WHERE p.grantee = concat('''', o.user, '''@''', o.host, ''''))
  /*!80000 AND @@GLOBAL.mandatory_roles = '' */ /*M! AND o.definer <> current_user() */
  AND NOT EXISTS (
      SELECT 1 FROM active a JOIN information_schema.user_privileges p ON p.grantee = concat('''', a.user, '''@''', a.host, '''')
      WHERE a.definer = o.definer AND p.privilege_type = n.privilege)
  AND NOT EXISTS (
      SELECT 1 FROM active a JOIN information_schema.schema_privileges p ON p.grantee = concat('''', a.user, '''@''', a.host, '''')
      WHERE a.definer = o.definer AND p.privilege_type = n.privilege AND 'shardid' LIKE p.table_schema)
ORDER BY 1, n.place
