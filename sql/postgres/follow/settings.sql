-- What is said of a role by which nodes follow, as what is said of it counts more than what is said of a server or a database:
-- its sessions read no view and no foreign table, where a server knows that, as minor versions from August 2024 on do; and
-- none of their statements and transactions has a limit of time, as copying a table takes as long as it does.
WITH setting AS (
    SELECT name, CASE vartype WHEN 'integer' THEN '0' ELSE 'view, foreign-table' END AS value
      FROM pg_settings
     WHERE name = 'restrict_nonsystem_relation_kind'
        OR context = 'user' AND unit = 'ms' AND vartype = 'integer' AND category LIKE 'Client Connection Defaults%'
)
