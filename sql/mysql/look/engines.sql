-- Tables of ours that would not survive a crash.
SELECT CAST(concat(table_schema, '.', table_name) AS CHAR) AS name, CAST(engine AS CHAR) AS engine
FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'SEQUENCE') AND engine <> 'InnoDB'
  AND (table_schema = 'shardid' OR table_name IN ('Tickets32', 'Tickets64'))
