-- Gives a change to a program: the next term after that which was read, if that is still the
-- last, and the state and the floor are as they were read.
UPDATE shardid.ticket_change SET term = term + 1 WHERE `change` = ? AND term = ? AND state = ? AND `floor` = ?
