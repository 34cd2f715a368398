-- Notes what the tables looked like when they were copied.
UPDATE shardid.move SET shape = $2 WHERE move = $1
