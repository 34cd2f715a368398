-- Below which number a ticket ($1) ends on this server, if it does.
SELECT ceiling FROM shardid.ticket WHERE name = $1
