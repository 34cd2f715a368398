-- Whoever has grants on routines of ours (kinds and names in lower case, in one text, ?) and is no user by that name:
-- what is theirs could not be given again.
SELECT DISTINCT CAST(concat(quote(p.user), '@', quote(p.host)) AS CHAR) AS who
FROM mysql.procs_priv p
WHERE p.db = 'shardid' AND find_in_set(lower(concat(p.routine_type, ' ', p.routine_name)), ?) AND NOT EXISTS (
    SELECT 1 FROM mysql.user u
    WHERE lower(u.host) = lower(p.host)
      AND CAST(CONVERT(u.user USING utf8mb4) AS BINARY) IN (
          CAST(CONVERT(p.user USING utf8mb4) AS BINARY), CAST(CONVERT(CONVERT(p.user USING utf8mb4) USING latin1) AS BINARY)))
ORDER BY 1
