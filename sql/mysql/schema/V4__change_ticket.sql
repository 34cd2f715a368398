-- Changing a ticket while it is in use. Each of these holds the ticket's row, so
-- nobody is handed a number in between; like DDL, they end an open transaction. A
-- session that has a block may use the rest of it for a tenth of a second: those
-- numbers were handed out before, and are below whatever is asked for here.

DROP PROCEDURE IF EXISTS shardid.limit_ticket;
CREATE PROCEDURE shardid.limit_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, new_ceiling BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Hands out no number at or above the ceiling from now on; NULL lifts it'
BEGIN
    DECLARE words TEXT;
    DECLARE last BIGINT UNSIGNED;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    SET @shardid_ticket = NULL;
    START TRANSACTION;
    SELECT t.last_ticket INTO last FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
    IF last IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF last >= new_ceiling THEN
        SET words = left(concat('last_ticket of ', ticket, ' is ', last, ', not below the ceiling ', new_ceiling), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    END IF;
    UPDATE shardid.ticket t SET t.ceiling = new_ceiling WHERE t.name = ticket;
    COMMIT;
END;

DROP PROCEDURE IF EXISTS shardid.restep_ticket;
CREATE PROCEDURE shardid.restep_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, new_server INT, new_servers INT, above BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Goes on with the numbers of another class, all above one, and lifts the ceiling'
change_ticket: BEGIN
    DECLARE words TEXT;
    DECLARE last, largest BIGINT UNSIGNED;
    DECLARE same BOOL;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL shardid.check_class(new_server, new_servers);
    SET @shardid_ticket = NULL;
    START TRANSACTION;
    SELECT t.last_ticket, t.max_ticket, t.server = new_server AND t.servers = new_servers AND t.`floor` <=> above
    INTO last, largest, same FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
    IF last IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF same THEN
        -- A ceiling that is here was set after the change, and stays.
        COMMIT;
        LEAVE change_ticket;
    ELSEIF NOT coalesce(above <= largest, FALSE) THEN
        SET words = left(concat('ticket ', ticket, ' cannot go on above ', coalesce(above, 'NULL'), ': its largest number is ', largest), 128);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    ELSEIF last > above THEN
        SET words = left(concat('last_ticket of ', ticket, ' is ', last, ', above the new floor ', above), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    END IF;
    UPDATE shardid.ticket t
    SET t.server = new_server, t.servers = new_servers, t.last_ticket = above, t.`floor` = above, t.ceiling = NULL
    WHERE t.name = ticket;
    CALL shardid.raise_table(ticket, above);
    COMMIT;
END;

DROP PROCEDURE IF EXISTS shardid.raise_ticket;
CREATE PROCEDURE shardid.raise_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, above BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Goes on above a number; never goes back'
BEGIN
    DECLARE words TEXT;
    DECLARE last, largest BIGINT UNSIGNED;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    SET @shardid_ticket = NULL;
    START TRANSACTION;
    SELECT t.last_ticket, t.max_ticket INTO last, largest FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
    IF last IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT coalesce(above <= largest, FALSE) THEN
        SET words = left(concat('ticket ', ticket, ' cannot go on above ', coalesce(above, 'NULL'), ': its largest number is ', largest), 128);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    UPDATE shardid.ticket t SET t.last_ticket = greatest(t.last_ticket, above) WHERE t.name = ticket;
    CALL shardid.raise_table(ticket, greatest(last, above));
    COMMIT;
END;
