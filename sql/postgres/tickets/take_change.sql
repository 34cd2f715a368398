-- Gives a change to a program: the next term after that ($2) which was read, if that is still
-- the last, and the state and the floor are as they were read.
UPDATE shardid.ticket_change SET term = term + 1 WHERE change = $1 AND term = $2 AND state = $3 AND floor = $4
