-- Statements that keep a shard ($1) from giving ids, and have it give them again, in one transaction: the
-- triggers of its row wait for those who have taken ids and have not committed.
SELECT format('UPDATE shardid.shard SET state = ''fenced'' WHERE shard = %s AND state = ''open''', $1::integer),
       format('UPDATE shardid.shard SET state = ''open'' WHERE shard = %s AND state = ''fenced''', $1::integer)
