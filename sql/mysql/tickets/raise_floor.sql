-- A higher floor, for servers that were quicker than the first one allowed for.
-- Only while no server has its new class.
UPDATE shardid.ticket_change SET `floor` = greatest(`floor`, ?) WHERE `change` = ? AND state = 'planned'
