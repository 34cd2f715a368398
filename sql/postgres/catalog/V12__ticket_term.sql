-- Which program works on a change of ticket servers: whoever begins to draws a term, and the
-- journal goes on for the last one alone.

ALTER TABLE shardid.ticket_change ADD COLUMN term bigint NOT NULL DEFAULT 0;

COMMENT ON COLUMN shardid.ticket_change.term IS 'that of the program which may go on with the change; one with a lower term changes nothing';
