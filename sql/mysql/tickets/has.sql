-- Which of our things are there.
SELECT coalesce(max(table_name = 'ticket'), 0) = 1 AS tickets,
       coalesce(max(table_name = 'ticket_change'), 0) = 1 AS catalog,
       coalesce(max(table_name = 'shard'), 0) = 1 AS shards
FROM information_schema.tables WHERE table_schema = 'shardid'
