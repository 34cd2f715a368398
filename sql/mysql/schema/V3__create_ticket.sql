-- Making and dropping tickets. Like DDL, these end an open transaction.

DROP PROCEDURE IF EXISTS shardid.check_class;
CREATE PROCEDURE shardid.check_class(server INT, servers INT)
    DETERMINISTIC NO SQL SQL SECURITY DEFINER
    COMMENT 'Refuses a server that is not 1 to servers, or more than 1000 servers'
BEGIN
    DECLARE words TEXT;
    IF NOT coalesce(server >= 1 AND server <= servers AND servers <= 1000, FALSE) THEN
        SET words = concat('server ', coalesce(server, 'NULL'), ' of ', coalesce(servers, 'NULL'),
            ' cannot be: hint: the first of two is 1, 2, and there are 1000 at most');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    END IF;
END;

DROP PROCEDURE IF EXISTS shardid.make_ticket;
CREATE PROCEDURE shardid.make_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, server INT, servers INT, above BIGINT,
    may_exist BOOL)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'What create_ticket and create_ticket_above do'
BEGIN
    DECLARE words TEXT;
    DECLARE largest BIGINT UNSIGNED DEFAULT if(ticket = 'Tickets32', 4294967295, 9223372036854775807);
    DECLARE as_wanted BOOL DEFAULT TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL shardid.check_class(server, servers);
    IF coalesce(ticket, '') = '' THEN
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'a ticket has a name of 1 to 64 characters';
    ELSEIF NOT coalesce(above BETWEEN 0 AND largest, FALSE) THEN
        SET words = left(concat('ticket ', ticket, ' cannot begin above ', coalesce(above, 'NULL'),
            ': its largest number is ', largest), 128);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    START TRANSACTION;
    -- Not INSERT IGNORE, which would let other mistakes pass as well.
    BEGIN
        DECLARE EXIT HANDLER FOR 1062
            SELECT may_exist AND t.server = server AND t.servers = servers AND t.`floor` = above
            INTO as_wanted FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
        INSERT INTO shardid.ticket (name, server, servers, last_ticket, `floor`, max_ticket)
        VALUES (ticket, server, servers, above, above, largest);
        CALL shardid.raise_table(ticket, above);
    END;
    IF NOT as_wanted THEN
        SET words = left(concat('ticket ', ticket, ' exists already: hint: SELECT * FROM shardid.tickets'), 128);
        SIGNAL SQLSTATE '42710' SET MESSAGE_TEXT = words;
    END IF;
    COMMIT;
END;

DROP PROCEDURE IF EXISTS shardid.create_ticket;
CREATE PROCEDURE shardid.create_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, server INT, servers INT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Makes a ticket; its first number is server, and each further one is servers more'
    CALL shardid.make_ticket(ticket, server, servers, 0, FALSE);

DROP PROCEDURE IF EXISTS shardid.create_ticket_above;
CREATE PROCEDURE shardid.create_ticket_above(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, server INT, servers INT, above BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Makes a ticket whose numbers are all above one; does nothing where it is there like that'
    CALL shardid.make_ticket(ticket, server, servers, above, TRUE);

DROP PROCEDURE IF EXISTS shardid.drop_ticket;
CREATE PROCEDURE shardid.drop_ticket(ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Forgets a ticket: made again, it begins anew and repeats its numbers'
BEGIN
    DECLARE words TEXT;
    -- Other sessions have the rest of their blocks for a tenth of a second.
    SET @shardid_ticket = NULL;
    DELETE FROM shardid.ticket WHERE name = ticket;
    IF row_count() = 0 THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: SELECT * FROM shardid.tickets'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    END IF;
END;
