-- Keys that are no counters: table, column and type.
SELECT CAST(c.table_name AS CHAR), CAST(c.column_name AS CHAR), CAST(c.column_type AS CHAR)
FROM information_schema.columns c
WHERE c.table_schema = 'shardid' AND c.column_name = 'id' AND c.column_key = 'PRI' AND c.extra NOT LIKE '%auto_increment%'
