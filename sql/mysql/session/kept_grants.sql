-- The statements that give again what is written down, of routines and to users that are there: nobody is made by them.
-- The engines write names down twice encoded (a ü as two letters), and roles and PUBLIC of MariaDB without a host.
SELECT CAST(concat('GRANT ', replace(replace(replace(k.privileges, ',Grant', ''), 'Grant,', ''), 'Grant', 'USAGE'), ' ON ', k.routine_type, ' shardid.`', k.routine, '` TO ',
              if(u.host = '' AND u.user = 'PUBLIC', 'PUBLIC', quote(u.user)), if(u.host = '' AND @@version LIKE '%MariaDB%', '', concat('@', quote(u.host))),
              if(find_in_set('Grant', k.privileges), ' WITH GRANT OPTION', '')) AS CHAR) AS statement
FROM shardid.kept_grant k
JOIN mysql.user u
  ON lower(u.host) = lower(k.host)
 AND (CAST(CONVERT(u.user USING utf8mb4) AS BINARY) = CAST(CONVERT(k.user USING latin1) AS BINARY)
      OR CAST(CONVERT(u.user USING utf8mb4) AS BINARY) = CAST(k.user AS BINARY)
         AND NOT EXISTS (SELECT 1 FROM mysql.user o
                         WHERE lower(o.host) = lower(k.host)
                           AND CAST(CONVERT(o.user USING utf8mb4) AS BINARY) = CAST(CONVERT(k.user USING latin1) AS BINARY)))
JOIN information_schema.routines r
  ON r.routine_schema = 'shardid' AND r.routine_type = k.routine_type AND lower(r.routine_name) = lower(k.routine)
ORDER BY 1
