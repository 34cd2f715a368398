-- Below which number a ticket (?) ends on this server, if it does.
SELECT CAST(ceiling AS SIGNED) AS ceiling FROM shardid.ticket WHERE name = ?
