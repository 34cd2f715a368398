-- What this server will be known again by.
UPDATE shardid.server SET mark = ?, marked_at = utc_timestamp(6)
