-- As in V7__flickr_triggers.sql, but of this server only (see V19__home.sql), and the row by which
-- raise_table raises a table is known to the triggers by the ticket's own row, and no more by a
-- variable that any client may set.

DROP PROCEDURE IF EXISTS shardid.before_flickr;
CREATE PROCEDURE shardid.before_flickr(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, id BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Sets the step for the row that is about to be inserted'
before_flickr: BEGIN
    DECLARE words TEXT;
    DECLARE offset_here, step_here INT UNSIGNED;
    DECLARE last, largest, stop_at, next, raised_by BIGINT UNSIGNED;
    DECLARE is_here BOOL;
    SELECT t.server, t.servers, t.last_ticket, t.max_ticket, t.ceiling, t.raising, t.home <=> shardid.here()
    INTO offset_here, step_here, last, largest, stop_at, raised_by, is_here
    FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
    IF id = raised_by THEN
        LEAVE before_flickr;
    ELSEIF last IS NULL THEN
        SET words = concat('ticket ', ticket, ' does not exist: hint: CALL shardid.create_flickr_tables(database(), 1, 1)');
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT is_here THEN
        CALL shardid.refuse_elsewhere('ticket', ticket);
    END IF;
    -- At the end of the column the engine would give its last number for ever.
    SET next = last + 1 + (offset_here + step_here - (last + 1) % step_here) % step_here;
    IF next >= coalesce(stop_at, next + 1) THEN
        SET words = concat('ticket ', ticket, ' ends before ', stop_at, ' on this server: hint: shardid tickets status');
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF next > largest - step_here THEN
        SET words = concat('ticket ', ticket, ' is used up: its largest number is ', largest);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    IF @shardid_increment IS NULL THEN
        SET @shardid_increment = @@SESSION.auto_increment_increment, @shardid_offset = @@SESSION.auto_increment_offset;
    END IF;
    SET SESSION auto_increment_increment = step_here, SESSION auto_increment_offset = offset_here;
END;

DROP PROCEDURE IF EXISTS shardid.after_flickr;
CREATE PROCEDURE shardid.after_flickr(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, id BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Puts the step of the session back, and refuses a number that could repeat one'
after_flickr: BEGIN
    DECLARE words TEXT;
    DECLARE last, largest, stop_at BIGINT UNSIGNED;
    IF EXISTS (SELECT 1 FROM shardid.ticket t WHERE t.name = ticket AND t.raising = id) THEN
        LEAVE after_flickr;
    END IF;
    SET SESSION auto_increment_increment = @shardid_increment, SESSION auto_increment_offset = @shardid_offset;
    SET @shardid_increment = NULL, @shardid_offset = NULL;
    UPDATE shardid.ticket t SET t.last_ticket = id
    WHERE t.name = ticket AND t.last_ticket < id AND id % t.servers = t.server % t.servers
      AND id <= t.max_ticket - t.servers AND id < coalesce(t.ceiling, id + 1);
    IF row_count() = 1 THEN
        LEAVE after_flickr;
    END IF;
    SELECT t.last_ticket, t.max_ticket - t.servers, t.ceiling INTO last, largest, stop_at
    FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
    IF id <= last THEN
        SET words = concat('number ', id, ' of ', ticket, ' was handed out before: hint: CALL shardid.raise_ticket(''', ticket, ''', ', last, ')');
    ELSEIF id >= stop_at THEN
        SET words = concat('ticket ', ticket, ' ends before ', stop_at, ' on this server: hint: shardid tickets status');
    ELSEIF id > largest THEN
        SET words = concat('ticket ', ticket, ' is used up: its largest number is ', largest);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    ELSE
        SET words = concat('number ', id, ' of ', ticket, ' is not this server''s: hint: leave the id to the table');
    END IF;
    SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
END;

DROP PROCEDURE IF EXISTS shardid.raise_table;
CREATE PROCEDURE shardid.raise_table(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, above BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Takes the counter of a table of Flickr''s above a number; nothing for other tickets'
BEGIN
    -- The triggers let this row pass. Nobody else sees it before the transaction has ended.
    UPDATE shardid.ticket t SET t.raising = above WHERE t.name = ticket;
    IF ticket = 'Tickets64' AND above > 0 THEN
        REPLACE INTO shardid.Tickets64 (id, stub) VALUES (above, '');
        DELETE FROM shardid.Tickets64 WHERE id = above;
    ELSEIF ticket = 'Tickets32' AND above > 0 THEN
        REPLACE INTO shardid.Tickets32 (id, stub) VALUES (above, '');
        DELETE FROM shardid.Tickets32 WHERE id = above;
    END IF;
    UPDATE shardid.ticket t SET t.raising = NULL WHERE t.name = ticket;
END;
