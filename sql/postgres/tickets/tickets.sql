-- The tickets of this server.
SELECT name, server::bigint AS server, servers::bigint AS servers, coalesce(last_ticket, floor) AS last,
       floor, ceiling, 9223372036854775807 AS max
FROM shardid.tickets ORDER BY name
