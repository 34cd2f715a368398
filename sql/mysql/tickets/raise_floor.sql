-- A higher floor, for servers that were quicker than the first one allowed for.
-- Only while no server has its new class, and for the program with the term.
UPDATE shardid.ticket_change SET `floor` = greatest(`floor`, ?) WHERE `change` = ? AND state = 'planned' AND term = ?
