-- The statements that give again what is written down, of routines that are there. A role of MariaDB has no host, nor has PUBLIC.
SELECT CAST(concat('GRANT ', replace(replace(replace(k.privileges, ',Grant', ''), 'Grant,', ''), 'Grant', 'USAGE'), ' ON ', k.routine_type, ' shardid.`', k.routine, '` TO ',
              if(k.host = '' AND k.user = 'PUBLIC', 'PUBLIC', quote(k.user)), if(k.host = '', '', concat('@', quote(k.host))),
              if(find_in_set('Grant', k.privileges), ' WITH GRANT OPTION', '')) AS CHAR) AS statement
FROM shardid.kept_grant k
JOIN information_schema.routines r
  ON r.routine_schema = 'shardid' AND r.routine_type = k.routine_type AND lower(r.routine_name) = lower(k.routine)
ORDER BY 1
