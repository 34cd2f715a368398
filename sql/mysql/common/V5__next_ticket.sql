-- Numbers. The UPDATE finds the next number of the class and keeps it in one
-- statement, so the row's lock is all that clients wait for, and they cannot
-- deadlock. READS SQL DATA is what lets a server with a binary log take a
-- function that writes, without `log_bin_trust_function_creators`; DETERMINISTIC
-- would too, but then one number would do for all rows of a statement.

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
    UPDATE shardid.ticket t
    SET t.last_ticket = last_insert_id(t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers)
                        + (how_many - 1) * t.servers
    WHERE t.name = ticket AND t.name NOT IN ('Tickets32', 'Tickets64')
      AND t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers
          + (how_many - 1) * t.servers <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket));
    IF row_count() = 1 THEN
        RETURN last_insert_id();
    END IF;
    RETURN shardid.refuse_ticket(ticket);
END;

DROP FUNCTION IF EXISTS shardid.next_ticket;
CREATE FUNCTION shardid.next_ticket(ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The next number of a ticket'
BEGIN
    UPDATE shardid.ticket t
    SET t.last_ticket = last_insert_id(t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers)
    WHERE t.name = ticket AND t.name NOT IN ('Tickets32', 'Tickets64')
      AND t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers
          <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket));
    IF row_count() = 1 THEN
        RETURN last_insert_id();
    END IF;
    RETURN shardid.refuse_ticket(ticket);
END;

-- Called where there was no number, to say why. What it reads is the row as it
-- is now, also in an old snapshot.
DROP FUNCTION IF EXISTS shardid.refuse_ticket;
CREATE FUNCTION shardid.refuse_ticket(ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'Fails, and says why a ticket has no number'
BEGIN
    DECLARE words TEXT;
    DECLARE stop_at, largest BIGINT UNSIGNED;
    SELECT t.ceiling, t.max_ticket INTO stop_at, largest
    FROM shardid.ticket t WHERE t.name = ticket LOCK IN SHARE MODE;
    IF largest IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF ticket IN ('Tickets32', 'Tickets64') THEN
        SET words = concat('ticket ', ticket, ' is a table: hint: REPLACE INTO ', ticket, ' (stub) VALUES (''a''); SELECT LAST_INSERT_ID()');
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
