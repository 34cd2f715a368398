-- Numbers. The UPDATE finds the next number of the class and keeps it in one
-- statement, so the row's lock is all that clients wait for, and they cannot
-- deadlock. READS SQL DATA is what lets a server with a binary log take a
-- function that writes, without `log_bin_trust_function_creators`; DETERMINISTIC
-- would too, but then one number would do for all rows of a statement.
--
-- The row is locked until its transaction is on disk, so all clients together would
-- get no more numbers a second than the disk has syncs. A session that takes one
-- right after the other therefore gets them in blocks (after 8 single ones 2, 4 …
-- 32), and hands a block out for a tenth of a second; what is left then is left out.
-- As with ids (V14__next_id.sql), what it knows lies in user variables, a block has
-- a row that goes where its transaction is undone, and its age is looked at twice.

DROP FUNCTION IF EXISTS shardid.take_tickets;
CREATE FUNCTION shardid.take_tickets(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, how_many BIGINT, without_gaps BOOL)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'What next_ticket, next_tickets and next_ticket_gapless do'
BEGIN
    -- The numbers of a session rise: what is left of its block is below these.
    SET @shardid_ticket = NULL;
    UPDATE shardid.ticket t
    SET t.last_ticket = last_insert_id(t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers)
                        + (how_many - 1) * t.servers,
        t.gapless = without_gaps
    WHERE t.name = ticket AND t.name NOT IN ('Tickets32', 'Tickets64')
      AND (t.gapless = without_gaps OR without_gaps AND t.last_ticket = t.`floor`)
      AND t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers
          + (how_many - 1) * t.servers <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket));
    IF row_count() = 1 THEN
        RETURN last_insert_id();
    END IF;
    RETURN shardid.refuse_ticket(ticket, without_gaps);
END;

DROP FUNCTION IF EXISTS shardid.next_tickets;
CREATE FUNCTION shardid.next_tickets(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, how_many BIGINT)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The first of so many numbers, each servers more than the one before'
BEGIN
    DECLARE words TEXT;
    IF NOT coalesce(how_many BETWEEN 1 AND 1000000, FALSE) THEN
        SET words = concat('cannot hand out ', coalesce(how_many, 'NULL'), ' numbers at once: hint: 1 to 1000000');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    END IF;
    RETURN shardid.take_tickets(ticket, how_many, FALSE);
END;

DROP FUNCTION IF EXISTS shardid.next_ticket_gapless;
CREATE FUNCTION shardid.next_ticket_gapless(ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The next number of a ticket: others wait until the transaction ends, and a rollback gives it back'
    RETURN shardid.take_tickets(ticket, 1, TRUE);

DROP FUNCTION IF EXISTS shardid.next_ticket;
CREATE FUNCTION shardid.next_ticket(ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The next number of a ticket'
BEGIN
    DECLARE session_us BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', sysdate(6));
    DECLARE how_many, block_row, own_row BIGINT UNSIGNED DEFAULT NULL;
    DECLARE turn INT DEFAULT 1;
    IF @shardid_ticket = ticket AND abs(unix_timestamp() - @shardid_ticket_statement_s) <= 1
       AND session_us BETWEEN @shardid_ticket_session_us AND @shardid_ticket_session_us + 100000 THEN
        IF @shardid_ticket_number < @shardid_ticket_last THEN
            SELECT b.id INTO block_row FROM shardid.block b WHERE b.id = @shardid_ticket_block_row;
        END IF;
        IF block_row IS NOT NULL THEN
            SET @shardid_ticket_number = @shardid_ticket_number + @shardid_ticket_step;
            RETURN @shardid_ticket_number;
        END IF;
        SET turn = @shardid_ticket_turn + 1;
    END IF;
    IF turn > 8 THEN
        SET how_many = 1 << least(turn - 8, 5);
        BEGIN
            -- Not so many are left: then one.
            DECLARE CONTINUE HANDLER FOR SQLSTATE '22003', SQLSTATE '55000' SET how_many = NULL;
            SET @shardid_ticket_number = shardid.take_tickets(ticket, how_many, FALSE);
        END;
    END IF;
    IF how_many IS NULL THEN
        SET @shardid_ticket_number = shardid.take_tickets(ticket, 1, FALSE);
        SET @shardid_ticket_last = @shardid_ticket_number;
    ELSE
        CALL shardid.note_block(own_row);
        SELECT t.servers INTO @shardid_ticket_step FROM shardid.ticket t WHERE t.name = ticket;
        SET @shardid_ticket_last = @shardid_ticket_number + (how_many - 1) * @shardid_ticket_step, @shardid_ticket_block_row = own_row;
    END IF;
    SET @shardid_ticket = ticket, @shardid_ticket_turn = turn,
        @shardid_ticket_session_us = session_us, @shardid_ticket_statement_s = unix_timestamp();
    RETURN @shardid_ticket_number;
END;

-- Called where there was no number, to say why. What it reads is the row as it
-- is now, also in an old snapshot.
DROP FUNCTION IF EXISTS shardid.refuse_ticket;
CREATE FUNCTION shardid.refuse_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, without_gaps BOOL)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'Fails, and says why a ticket has no number'
BEGIN
    DECLARE words TEXT;
    DECLARE stop_at, largest BIGINT UNSIGNED;
    DECLARE its_way, is_used BOOL;
    SELECT t.ceiling, t.max_ticket, t.gapless, t.last_ticket > t.`floor` INTO stop_at, largest, its_way, is_used
    FROM shardid.ticket t WHERE t.name = ticket LOCK IN SHARE MODE;
    IF largest IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF ticket IN ('Tickets32', 'Tickets64') THEN
        SET words = concat('ticket ', ticket, ' is a table: hint: REPLACE INTO ', ticket, ' (stub) VALUES (''a''); SELECT LAST_INSERT_ID()');
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF its_way AND NOT without_gaps THEN
        SET words = left(concat('ticket ', ticket, ' is without gaps: hint: SELECT shardid.next_ticket_gapless(''', ticket, ''')'), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF without_gaps AND is_used AND NOT its_way THEN
        SET words = left(concat('ticket ', ticket, ' may have gaps: next_ticket has handed out numbers of it'), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF stop_at IS NOT NULL AND stop_at <= largest THEN
        SET words = left(concat('ticket ', ticket, ' ends before ', stop_at, ' on this server: hint: shardid tickets status'), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    END IF;
    SET words = left(concat('ticket ', ticket, ' is used up: its largest number is ', largest), 128);
    SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    -- Not reached, but a function has to have it.
    RETURN NULL;
END;
