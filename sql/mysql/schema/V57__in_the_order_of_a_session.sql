-- On MariaDB the numbers of a session fell where another connection, whose number leaves the same rest by 4096, was in a
-- transaction with tickets, or while raise_ticket was at work: the place of its block was locked, so it took a number
-- beside, and had the lower rest of its block when the place was free again.
--
-- A block is over a tenth of a second after it was last used. Whoever finds the place locked lets that pass before he takes a number
-- beside it: what is in the place is for nobody then. He holds no lock that he has not held before, so nobody waits in
-- a circle. MySQL waits for the place itself; so does MariaDB in a statement that has used the table before by the same name, and
-- therefore the second look has a name of its own.

DROP FUNCTION IF EXISTS shardid.next_ticket;
CREATE FUNCTION shardid.next_ticket(ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The next number of a ticket'
BEGIN
    DECLARE now_us BIGINT DEFAULT coalesce(timestampdiff(MICROSECOND, '1970-01-01', convert_tz(sysdate(6), @@SESSION.time_zone, '+00:00')), 0);
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE here VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */);
    DECLARE its_place, its_turn, numbers_left, its_step INT;
    DECLARE number BIGINT UNSIGNED;
    DECLARE how_many INT DEFAULT 1;
    DECLARE is_mine BOOL;
    IF concat('', @@GLOBAL.read_only) NOT IN ('0', 'OFF') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT =
            'the server is read-only: hint: ask the one that takes writes; if it is this one, SET GLOBAL read_only = 0';
    END IF;
    -- The place before the ticket: all do it in this order, so nobody waits in a circle.
    SELECT b.place, b.turn, b.next_number, b.numbers,
           b.session = me AND b.home = here AND b.ticket = ticket AND now_us BETWEEN b.taken_us AND b.taken_us + 100000
    INTO its_place, its_turn, number, numbers_left, is_mine
    FROM shardid.ticket_block b WHERE b.place = me % 4096 FOR UPDATE SKIP LOCKED;
    IF its_place IS NULL THEN
        -- Held for one number alone, it is free soon.
        DO sleep(0.003);
        SET now_us = coalesce(timestampdiff(MICROSECOND, '1970-01-01', convert_tz(sysdate(6), @@SESSION.time_zone, '+00:00')), 0);
        SELECT again.place, again.turn, again.next_number, again.numbers,
               again.session = me AND again.home = here AND again.ticket = ticket
               AND now_us BETWEEN again.taken_us AND again.taken_us + 100000
        INTO its_place, its_turn, number, numbers_left, is_mine
        FROM shardid.ticket_block again WHERE again.place = me % 4096 FOR UPDATE SKIP LOCKED;
    END IF;
    IF its_place IS NULL THEN
        DO sleep(0.1);
        RETURN shardid.take_tickets(ticket, 1, FALSE);
    END IF;
    IF is_mine AND numbers_left > 0 THEN
        UPDATE shardid.ticket_block b
        SET b.next_number = b.next_number + b.step, b.numbers = b.numbers - 1, b.taken_us = now_us
        WHERE b.place = its_place;
        RETURN number;
    END IF;
    SET its_turn = if(is_mine, its_turn + 1, 1), number = NULL;
    IF its_turn > 8 THEN
        SET how_many = 1 << least(its_turn - 8, 5);
        BEGIN
            -- Not so many are left: then one.
            DECLARE CONTINUE HANDLER FOR SQLSTATE '22003', SQLSTATE '55000' SET number = NULL;
            SET number = shardid.take_tickets(ticket, how_many, FALSE);
        END;
    END IF;
    IF number IS NULL THEN
        SET how_many = 1, number = shardid.take_tickets(ticket, 1, FALSE);
    END IF;
    SELECT t.servers INTO its_step FROM shardid.ticket t WHERE t.name = ticket;
    UPDATE shardid.ticket_block b
    SET b.session = me, b.ticket = ticket, b.turn = its_turn, b.next_number = number + its_step,
        b.numbers = how_many - 1, b.step = its_step, b.home = here, b.taken_us = now_us
    WHERE b.place = its_place;
    RETURN number;
END;

DROP PROCEDURE IF EXISTS shardid.leave_block;
CREATE PROCEDURE shardid.leave_block()
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Leaves out what is left of the block of this session'
BEGIN
    DECLARE its_place INT;
    DECLARE is_mine BOOL;
    SELECT b.place, b.session = connection_id() INTO its_place, is_mine
    FROM shardid.ticket_block b WHERE b.place = connection_id() % 4096 FOR UPDATE SKIP LOCKED;
    IF its_place IS NULL THEN
        DO sleep(0.003);
        SELECT again.place, again.session = connection_id() INTO its_place, is_mine
        FROM shardid.ticket_block again WHERE again.place = connection_id() % 4096 FOR UPDATE SKIP LOCKED;
    END IF;
    IF its_place IS NULL THEN
        DO sleep(0.1);
    END IF;
    IF is_mine THEN
        UPDATE shardid.ticket_block b SET b.numbers = 0 WHERE b.place = its_place;
    END IF;
END;
