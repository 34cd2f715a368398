-- The tickets of this server.
SELECT name, CAST(server AS SIGNED) AS server, CAST(servers AS SIGNED) AS servers,
       CAST(last_ticket AS SIGNED) AS last, CAST(`floor` AS SIGNED) AS `floor`,
       CAST(ceiling AS SIGNED) AS ceiling, CAST(max_ticket AS SIGNED) AS max
FROM shardid.ticket ORDER BY name
