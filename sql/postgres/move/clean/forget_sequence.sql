-- The shard's sequence is gone with its schema.
UPDATE shardid.shard SET sequence = NULL WHERE shard = $1 AND state = 'moved'
