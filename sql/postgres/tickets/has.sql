-- Which of our things are there.
SELECT to_regclass('shardid.tickets') IS NOT NULL AS tickets,
       to_regclass('shardid.ticket_change') IS NOT NULL AS catalog
