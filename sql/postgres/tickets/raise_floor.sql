-- A higher floor, for servers that were quicker than the first one allowed for.
-- Only while no server has its new class.
UPDATE shardid.ticket_change SET floor = greatest(floor, $1) WHERE change = $2 AND state = 'planned'
