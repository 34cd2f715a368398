-- Many tickets with the class they are of, in one row. Who reads the step beside the function
-- may read that of another class, which the ticket has meanwhile.

DROP FUNCTION IF EXISTS shardid.first_and_delta;
CREATE FUNCTION shardid.first_and_delta(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, how_many BIGINT)
    RETURNS VARCHAR(64) CHARACTER SET utf8mb4 NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'What the procedure next_tickets shows: one statement, so the row is locked from number to step'
BEGIN
    DECLARE first, delta BIGINT UNSIGNED;
    SET first = shardid.next_tickets(ticket, how_many);
    SELECT t.servers INTO delta FROM shardid.ticket t WHERE t.name = ticket;
    RETURN concat(first, ' ', delta);
END;

DROP PROCEDURE IF EXISTS shardid.next_tickets;
CREATE PROCEDURE shardid.next_tickets(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, how_many BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'So many numbers, as a row of first, last and delta'
BEGIN
    DECLARE taken VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE first_of_it, its_delta BIGINT UNSIGNED;
    SET taken = shardid.first_and_delta(ticket, how_many);
    SET first_of_it = substring_index(taken, ' ', 1), its_delta = substring_index(taken, ' ', -1);
    SELECT first_of_it AS first, first_of_it + (how_many - 1) * its_delta AS last, its_delta AS delta;
END;
