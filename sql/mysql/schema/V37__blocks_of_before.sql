-- As in V23__ticket_blocks.sql, but raise_ticket takes away what is left of all blocks of its ticket:
-- the numbers in those are not above what it was told. It waits for transactions that hand out from
-- one. And when a block was last used is told by a clock that no zone of a session moves: a client that set its
-- zone a minute back had its block again a minute later.
--
-- take_tickets says itself how many numbers there can be; fewer than one would take the ticket back.

DROP FUNCTION IF EXISTS shardid.take_tickets;
CREATE FUNCTION shardid.take_tickets(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, how_many BIGINT, without_gaps BOOL)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'What next_ticket, next_tickets and next_ticket_gapless do'
BEGIN
    DECLARE words TEXT;
    UPDATE shardid.ticket t
    SET t.last_ticket = last_insert_id(t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers)
                        + (how_many - 1) * t.servers,
        t.gapless = without_gaps
    WHERE how_many BETWEEN 1 AND 1000000 AND t.name = ticket AND t.home = concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */) AND t.name NOT IN ('Tickets32', 'Tickets64')
      AND (t.gapless = without_gaps OR without_gaps AND t.last_ticket = t.`floor`)
      AND t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers
          + (how_many - 1) * t.servers <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket));
    IF row_count() = 1 THEN
        RETURN last_insert_id();
    ELSEIF NOT coalesce(how_many BETWEEN 1 AND 1000000, FALSE) THEN
        SET words = concat('cannot hand out ', coalesce(how_many, 'NULL'), ' numbers at once: hint: 1 to 1000000');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    ELSEIF without_gaps IS NULL THEN
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'tickets are handed out with gaps or without: hint: 0 or 1';
    END IF;
    RETURN shardid.refuse_ticket(ticket, without_gaps);
END;

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
    -- The place before the ticket: all do it in this order, so nobody waits in a circle.
    SELECT b.place, b.turn, b.next_number, b.numbers,
           b.session = me AND b.home = here AND b.ticket = ticket AND now_us BETWEEN b.taken_us AND b.taken_us + 100000
    INTO its_place, its_turn, number, numbers_left, is_mine
    FROM shardid.ticket_block b WHERE b.place = me % 4096 FOR UPDATE SKIP LOCKED;
    IF its_place IS NULL THEN
        RETURN shardid.take_tickets(ticket, 1, FALSE);
    ELSEIF is_mine AND numbers_left > 0 THEN
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

DROP PROCEDURE IF EXISTS shardid.raise_ticket;
CREATE PROCEDURE shardid.raise_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, above BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Goes on above a number, on this server; never goes back'
BEGIN
    DECLARE words TEXT;
    DECLARE last, largest BIGINT UNSIGNED;
    DECLARE its_place, free_place, wait_for INT;
    DECLARE done BOOL;
    DECLARE blocks CURSOR FOR SELECT b.place FROM shardid.ticket_block b WHERE b.ticket = ticket AND b.numbers > 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    hold_ticket: LOOP
        START TRANSACTION;
        SELECT t.last_ticket, t.max_ticket INTO last, largest FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
        IF last IS NULL THEN
            SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
            SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
        ELSEIF NOT coalesce(above <= largest, FALSE) THEN
            SET words = left(concat('ticket ', ticket, ' cannot go on above ', coalesce(above, 'NULL'), ': its largest number is ', largest), 128);
            SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
        END IF;
        -- Whoever has a block took it before, and nobody takes another one while the ticket is held. The
        -- first look that takes no lock is this one, so it sees them all.
        SET wait_for = NULL, done = FALSE;
        BEGIN
            DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
            OPEN blocks;
            leave_out: LOOP
                FETCH blocks INTO its_place;
                IF done THEN
                    LEAVE leave_out;
                END IF;
                SELECT max(b.place) INTO free_place FROM shardid.ticket_block b WHERE b.place = its_place FOR UPDATE SKIP LOCKED;
                IF free_place IS NULL THEN
                    SET wait_for = its_place;
                    LEAVE leave_out;
                END IF;
                UPDATE shardid.ticket_block b SET b.numbers = 0 WHERE b.place = its_place AND b.ticket = ticket;
            END LOOP;
            CLOSE blocks;
        END;
        IF wait_for IS NULL THEN
            LEAVE hold_ticket;
        END IF;
        -- Its session may want the ticket next: it is waited for without holding that.
        ROLLBACK;
        START TRANSACTION;
        UPDATE shardid.ticket_block b SET b.numbers = 0 WHERE b.place = wait_for AND b.ticket = ticket;
        COMMIT;
    END LOOP;
    UPDATE shardid.ticket t SET t.last_ticket = greatest(t.last_ticket, above), t.home = shardid.here() WHERE t.name = ticket;
    CALL shardid.raise_table(ticket, greatest(last, above));
    COMMIT;
END;
