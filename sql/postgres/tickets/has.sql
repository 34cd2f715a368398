-- Which of our things are there. Shards of a PostgreSQL node are the map's.
SELECT to_regclass('shardid.tickets') IS NOT NULL AS tickets,
       to_regclass('shardid.ticket_change') IS NOT NULL AS catalog,
       false AS shards
