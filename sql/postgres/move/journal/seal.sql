-- Notes from where on the old copy is to follow the new one.
UPDATE shardid.move SET seal = $2 WHERE move = $1
