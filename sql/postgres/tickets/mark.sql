-- What this server will be known again by.
UPDATE shardid.server SET mark = $1, marked_at = clock_timestamp()
