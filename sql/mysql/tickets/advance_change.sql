-- What the state before asked for is done everywhere. No row is changed where the change is
-- in another one, or another program than that of the term works on it.
UPDATE shardid.ticket_change SET state = ?, since = utc_timestamp(6) WHERE `change` = ? AND state = ? AND term = ?
