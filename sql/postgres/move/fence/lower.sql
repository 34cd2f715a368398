-- Opens a fenced shard ($1): its row decides. The triggers on its tables are in nobody's way.
SELECT format('UPDATE shardid.shard SET state = ''open'' WHERE shard = %s AND state = ''fenced''', $1::integer) AS statement
