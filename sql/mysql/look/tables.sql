-- The tables there are.
SELECT t.table_name FROM information_schema.tables t WHERE t.table_schema = 'shardid'
