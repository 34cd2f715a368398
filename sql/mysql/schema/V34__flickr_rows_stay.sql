-- As in V26__flickr_of_here.sql and V32__flickr_database.sql, but nothing of anybody's is destroyed: raising a
-- table deleted the row that had the number or the empty stub, and create_flickr_tables replaced
-- any view of that name. It looks at all of it before it changes anything. And what a client put into the
-- variables that keep the session's step is no error of the engine any more. Rows of a server whose ticket is
-- another's, or is not there yet, come in: a dump that is restored schema first, data later has them.

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
    ELSEIF id > 0 AND NOT coalesce(is_here, FALSE) THEN
        -- A row that is restored, or sent by replication: nobody is handed its number here.
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
    IF NOT EXISTS (SELECT 1 FROM shardid.ticket t WHERE t.name = ticket AND t.home = shardid.here() AND NOT t.raising <=> id) THEN
        LEAVE after_flickr;
    END IF;
    -- A client may have set them to what is no step; then it has the server's.
    SET SESSION auto_increment_increment = if(coalesce(CAST(@shardid_increment AS CHAR) REGEXP '^[1-9][0-9]{0,4}$', FALSE),
                                              CAST(@shardid_increment AS UNSIGNED), @@GLOBAL.auto_increment_increment),
        SESSION auto_increment_offset = if(coalesce(CAST(@shardid_offset AS CHAR) REGEXP '^[1-9][0-9]{0,4}$', FALSE),
                                           CAST(@shardid_offset AS UNSIGNED), @@GLOBAL.auto_increment_offset);
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

-- A row with a number of its own takes the table's counter above it, for good. It takes no place of another
-- row: that would be gone.
DROP PROCEDURE IF EXISTS shardid.raise_table;
CREATE PROCEDURE shardid.raise_table(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, above BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Takes the counter of a table of Flickr''s above a number; nothing for other tickets'
raise_table: BEGIN
    DECLARE largest, row_id BIGINT UNSIGNED;
    DECLARE code INT DEFAULT 57344;
    DECLARE row_stub CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE taken INT DEFAULT 1;
    IF ticket NOT IN ('Tickets32', 'Tickets64') OR above = 0 THEN
        LEAVE raise_table;
    END IF;
    SELECT t.max_ticket INTO largest FROM shardid.ticket t WHERE t.name = ticket;
    -- A number and a stub that no row has; letters of no script, in a table of few rows.
    SET row_id = above - 1;
    WHILE taken > 0 DO
        SET row_id = row_id + 1;
        IF row_id > largest THEN
            -- The last number is there: there are no more.
            LEAVE raise_table;
        ELSEIF ticket = 'Tickets64' THEN
            SELECT count(*) INTO taken FROM shardid.Tickets64 f WHERE f.id = row_id FOR UPDATE;
        ELSE
            SELECT count(*) INTO taken FROM shardid.Tickets32 f WHERE f.id = row_id FOR UPDATE;
        END IF;
    END WHILE;
    SET code = code - 1, taken = 1;
    WHILE taken > 0 DO
        SET code = code + 1, row_stub = convert(char(code USING ucs2) USING utf8mb4);
        IF ticket = 'Tickets64' THEN
            SELECT count(*) INTO taken FROM shardid.Tickets64 f WHERE f.stub = row_stub FOR UPDATE;
        ELSE
            SELECT count(*) INTO taken FROM shardid.Tickets32 f WHERE f.stub = row_stub FOR UPDATE;
        END IF;
    END WHILE;
    -- The triggers let this row pass. Nobody else sees it before the transaction has ended.
    UPDATE shardid.ticket t SET t.raising = row_id WHERE t.name = ticket;
    IF ticket = 'Tickets64' THEN
        INSERT INTO shardid.Tickets64 (id, stub) VALUES (row_id, row_stub);
        DELETE FROM shardid.Tickets64 WHERE id = row_id;
    ELSE
        INSERT INTO shardid.Tickets32 (id, stub) VALUES (row_id, row_stub);
        DELETE FROM shardid.Tickets32 WHERE id = row_id;
    END IF;
    UPDATE shardid.ticket t SET t.raising = NULL WHERE t.name = ticket;
END;

DROP PROCEDURE IF EXISTS shardid.create_flickr_tables;
CREATE PROCEDURE shardid.create_flickr_tables(
    in_database VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, server INT, servers INT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Makes Tickets64 and Tickets32 in a database, for this one of so many servers'
BEGIN
    DECLARE words TEXT CHARACTER SET utf8mb4;
    DECLARE other VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    CALL shardid.check_class(server, servers);
    IF NOT EXISTS (SELECT 1 FROM information_schema.schemata d WHERE d.schema_name = in_database) THEN
        SET words = left(concat('database ', coalesce(in_database, 'NULL'), ' does not exist: hint: CREATE DATABASE ', coalesce(in_database, 'flickr')), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    END IF;
    SELECT min(t.name) INTO other FROM shardid.ticket t
    WHERE t.name IN ('Tickets64', 'Tickets32') AND NOT (t.server = server AND t.servers = servers);
    IF other IS NOT NULL THEN
        SET words = concat('ticket ', other, ' exists already: hint: SELECT * FROM shardid.tickets');
        SIGNAL SQLSTATE '42710' SET MESSAGE_TEXT = words;
    END IF;
    -- Nobody else's view is replaced. Ours reads as both engines write it.
    SELECT min(t.table_name) INTO other
    FROM information_schema.tables t
    LEFT JOIN information_schema.views v ON v.table_schema = t.table_schema AND v.table_name = t.table_name
    WHERE t.table_schema = in_database AND lower(t.table_name) IN ('tickets64', 'tickets32')
      AND NOT coalesce(lower(replace(v.view_definition, '`', '')) = lower(replace('select shardid.X.id AS id,shardid.X.stub AS stub from shardid.X', 'X', t.table_name)), FALSE);
    IF other IS NOT NULL THEN
        SET words = left(concat('table ', in_database, '.', other, ' exists already: hint: RENAME TABLE `', in_database, '`.`', other, '` TO `', in_database, '`.`', other, '_before`'), 128);
        SIGNAL SQLSTATE '42710' SET MESSAGE_TEXT = words;
    END IF;
    -- Where a view may not be made, there are no tickets either.
    CALL shardid.create_flickr_view(in_database, 'Tickets64');
    CALL shardid.create_flickr_view(in_database, 'Tickets32');
    IF NOT EXISTS (SELECT 1 FROM shardid.ticket t WHERE t.name = 'Tickets64') THEN
        CALL shardid.create_ticket('Tickets64', server, servers);
    END IF;
    IF NOT EXISTS (SELECT 1 FROM shardid.ticket t WHERE t.name = 'Tickets32') THEN
        CALL shardid.create_ticket('Tickets32', server, servers);
    END IF;
END;
