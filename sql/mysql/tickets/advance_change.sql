-- What the state before asked for is done everywhere.
UPDATE shardid.ticket_change SET state = ?, since = utc_timestamp(6) WHERE `change` = ?
