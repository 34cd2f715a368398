-- What is written down of routines that are there and of users that are not, as one who was renamed: whose it was, and
-- the statement that gives it again, but for the name.
SELECT CAST(concat(quote(k.user), '@', quote(k.host)) AS CHAR) AS who,
       CAST(concat('GRANT ', upper(replace(replace(replace(k.privileges, ',Grant', ''), 'Grant,', ''), 'Grant', 'USAGE')), ' ON ', k.routine_type, ' shardid.', k.routine, ' TO its new name',
                   if(find_in_set('Grant', k.privileges), ' WITH GRANT OPTION', '')) AS CHAR) AS statement
FROM shardid.kept_grant k
JOIN information_schema.routines r
  ON r.routine_schema = 'shardid' AND r.routine_type = k.routine_type AND lower(r.routine_name) = lower(k.routine)
WHERE NOT EXISTS (
    SELECT 1 FROM mysql.user u
    WHERE lower(u.host) = lower(k.host)
      AND CAST(CONVERT(u.user USING utf8mb4) AS BINARY) IN (CAST(k.user AS BINARY), CAST(CONVERT(k.user USING latin1) AS BINARY)))
ORDER BY 1, 2
