-- Which program works on a change of ticket servers: whoever begins to draws a term, and the
-- journal goes on for the last one alone. The same as sql/postgres/catalog/V12__ticket_term.sql.

DROP PROCEDURE IF EXISTS shardid.add_term;
CREATE PROCEDURE shardid.add_term()
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Adds the column; where it is there, it stays'
BEGIN
    DECLARE CONTINUE HANDLER FOR 1060 BEGIN END;
    ALTER TABLE shardid.ticket_change ADD COLUMN term BIGINT NOT NULL DEFAULT 0 COMMENT 'that of the program which may go on with the change';
END;
CALL shardid.add_term();
DROP PROCEDURE IF EXISTS shardid.add_term;
