-- As before, with what was wrong.
--
-- A call of lower_counters that was refused put the counters back to where it had drawn last: whoever
-- drew between that and the fence kept his number, which was given again. It says who keeps it waiting.
-- It looks from the tick on in which the counters go on, and refuses where its definer does not see every
-- trigger: what it does not see it cannot look at.
--
-- A row of Tickets32 or Tickets64 that may not have its number is refused before the engine takes the
-- table's counter above it, for good; and so is insert_id.
--
-- Which other servers share a ticket is known in the catalogue: made by hand on a server of a cluster that
-- has none of it, it would give the numbers of another one.
--
-- A segment is cut by the delta of the row that it is taken from, not by that of an older snapshot; and
-- raise_ticket sees the blocks that are, not what others have not committed, in READ UNCOMMITTED as well.

DROP PROCEDURE IF EXISTS shardid.lower_counters;
CREATE PROCEDURE shardid.lower_counters()
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Lets ids go on at the clock, unless some of later stand in a table; shows the tables that it looked at'
BEGIN
    DECLARE done BOOL DEFAULT FALSE;
    DECLARE words TEXT;
    DECLARE its_table, its_column, its_number, its_statement TEXT CHARACTER SET utf8mb4;
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE its_shard, drawn, drawn_128, stood, stood_128 BIGINT;
    -- Ids may be 10 s ahead of the clock.
    DECLARE above BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000;
    -- Further than any wait.
    DECLARE fence BIGINT DEFAULT above + 400 * 86400 * 1000000;
    DECLARE looked_at LONGTEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE filled CURSOR FOR
        SELECT concat('`', replace(t.event_object_schema, '`', '``'), '`.`', replace(t.event_object_table, '`', '``'), '`'),
               t.action_statement
        FROM information_schema.triggers t
        WHERE t.action_statement LIKE '%shardid.next\_id(%' AND t.event_object_schema <> 'shardid'
        ORDER BY t.event_object_schema, t.event_object_table;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        BEGIN
            -- What is not set back is for the next call.
            DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN END;
            ROLLBACK;
            -- Not where another session is at it.
            IF coalesce(stood, stood_128) IS NOT NULL THEN
                -- Above all that those have been given who drew just before the fence.
                SET above = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000;
                CALL shardid.set_counters(greatest(stood, above), greatest(stood_128, above DIV 128 + 1));
                DELETE FROM shardid.lowering;
                COMMIT;
            END IF;
        END;
        DO release_lock('shardid.lower_counters');
        RESIGNAL;
    END;
    -- Whose triggers are seen is decided by the rights of the definer, 'user'@'host'.
    IF (SELECT count(DISTINCT p.privilege_type) FROM information_schema.user_privileges p
        WHERE p.privilege_type IN ('SELECT', 'TRIGGER')
          AND p.grantee = concat('\'', left(current_user(), char_length(current_user()) - char_length(substring_index(current_user(), '@', -1)) - 1),
                                 '\'@\'', substring_index(current_user(), '@', -1), '\'')) < 2
    THEN
        SET words = left(concat('no counter is lowered by who may not see all tables: hint: GRANT SELECT, TRIGGER ON *.* TO ', current_user()), 128);
        SIGNAL SQLSTATE '42501' SET MESSAGE_TEXT = words;
    ELSEIF @@insert_id <> 0 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered where insert_id is set: hint: SET insert_id = 0';
    ELSEIF timestampdiff(MICROSECOND, sysdate(6), now(6)) > 1000000 OR timestampdiff(MICROSECOND, now(6), sysdate(6)) > 1000000 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered where timestamp is set: hint: SET timestamp = DEFAULT';
    ELSEIF timestampdiff(SECOND, convert_tz(utc_timestamp() - INTERVAL 2 HOUR, '+00:00', @@SESSION.time_zone),
                                 convert_tz(utc_timestamp() + INTERVAL 2 HOUR, '+00:00', @@SESSION.time_zone)) <> 14400 THEN
        -- Then that look says nothing: an hour comes twice.
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered in the hours in which summer time ends: hint: SET time_zone = ''+00:00''';
    ELSEIF NOT (coalesce(is_used_lock('shardid.lower_counters') = me, FALSE) OR get_lock('shardid.lower_counters', 0)) THEN
        SET words = concat('the counters are being lowered by another session: hint: wait, or KILL ', coalesce(is_used_lock('shardid.lower_counters'), 'it'));
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    END IF;

    START TRANSACTION;
    INSERT INTO shardid.counter (session) VALUES (me);
    SET drawn = last_insert_id();
    DELETE FROM shardid.counter WHERE id = drawn AND session = me;
    INSERT INTO shardid.counter_128 (session) VALUES (me);
    SET drawn_128 = last_insert_id();
    DELETE FROM shardid.counter_128 WHERE id = drawn_128 AND session = me;
    IF drawn > above - 1000000 THEN
        INSERT INTO shardid.counter (id, session) VALUES (greatest(drawn, fence), me);
        DELETE FROM shardid.counter WHERE id = greatest(drawn, fence) AND session = me;
        -- Whoever drew between these two has a number that is not later than this, by the clock of now: the
        -- next statements may see another.
        SET stood = greatest(drawn, timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11200000);
        SET stood = coalesce((SELECT l.stood FROM shardid.lowering l WHERE l.counter = 'counter' AND drawn >= l.raised_to), stood);
        REPLACE INTO shardid.lowering VALUES ('counter', stood, greatest(drawn, fence));
    END IF;
    IF drawn_128 > (above - 1000000) DIV 128 THEN
        INSERT INTO shardid.counter_128 (id, session) VALUES (greatest(drawn_128, fence DIV 128), me);
        DELETE FROM shardid.counter_128 WHERE id = greatest(drawn_128, fence DIV 128) AND session = me;
        SET stood_128 = greatest(drawn_128, (timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11200000) DIV 128 + 1);
        SET stood_128 = coalesce((SELECT l.stood FROM shardid.lowering l WHERE l.counter = 'counter_128' AND drawn_128 >= l.raised_to), stood_128);
        REPLACE INTO shardid.lowering VALUES ('counter_128', stood_128, greatest(drawn_128, fence DIV 128));
    END IF;
    COMMIT;
    -- Sets nothing, but waits for those who drew before the fence.
    BEGIN
        DECLARE EXIT HANDLER FOR 1205
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'a transaction that has taken ids does not end: hint: SHOW PROCESSLIST, XA RECOVER, then CALL shardid.lower_counters() again';
        CALL shardid.set_counters(greatest(drawn, if(stood IS NULL, NULL, fence)) + 1, greatest(drawn_128, if(stood_128 IS NULL, NULL, fence DIV 128)) + 1);
    END;

    OPEN filled;
    look: LOOP
        FETCH filled INTO its_table, its_statement;
        IF done OR coalesce(stood, stood_128) IS NULL THEN
            LEAVE look;
        END IF;
        -- As id_trigger writes it: SET NEW.`id` = if(…, shardid.next_id(5), NEW.`id`)
        SET its_column = substring_index(substring_index(its_statement, 'SET NEW.', -1), ' = ', 1),
            its_number = substring_index(substring_index(its_statement, 'shardid.next_id(', -1), ')', 1);
        -- The text is whoever's that made the trigger: nothing but a quoted name becomes SQL.
        IF its_number NOT REGEXP '^[0-9]{1,9}$' THEN
            SET words = left(concat('table ', its_table, ' has a trigger that is not as id_trigger writes it: hint: make it anew'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        SET its_shard = its_number;
        IF its_column NOT REGEXP '^`([^`]|``)+`$' THEN
            SET words = left(concat('table ', its_table, ' has a trigger that is not as id_trigger writes it: hint: make it anew'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        -- The time goes on, and so do ids of the other counter; where it goes back, these do not.
        SET above = greatest(above, timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000);
        SET @shardid_found = NULL;
        -- A row that is not committed is waited for: its transaction may have had its id before.
        SET @shardid_look = (SELECT concat('SELECT max(', its_column, ') INTO @shardid_found FROM ', its_table, ' WHERE ', its_column, ' >= ',
                (above - s.epoch_us) DIV s.tick_us * s.shards * s.slots, ' LOCK IN SHARE MODE') FROM shardid.shard s WHERE s.shard = its_shard);
        IF @shardid_look IS NULL THEN
            SET words = left(concat('table ', its_table, ' has a trigger for shard ', its_shard, ', which is not here: hint: drop the trigger'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        BEGIN
            DECLARE EXIT HANDLER FOR 1205 BEGIN
                SET words = left(concat('table ', its_table, ' has rows of a transaction that does not end: hint: SHOW PROCESSLIST, XA RECOVER, then again'), 128);
                SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
            END;
            PREPARE look_for FROM @shardid_look;
            EXECUTE look_for;
            DEALLOCATE PREPARE look_for;
        END;
        IF @shardid_found IS NOT NULL THEN
            SET words = left(concat('id ', @shardid_found, ' of table ', its_table, ' is later than now: its row has to go first, or ids have to wait'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        SET done = FALSE, looked_at = concat(looked_at, if(looked_at = '', '', ', '), its_table);
    END LOOP;
    CLOSE filled;

    SET above = greatest(above, timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000);
    CALL shardid.set_counters(if(stood IS NULL, NULL, above), if(stood_128 IS NULL, NULL, above DIV 128 + 1));
    DELETE FROM shardid.lowering;
    COMMIT;
    DO release_lock('shardid.lower_counters');
    SET @shardid_look = NULL, @shardid_found = NULL;
    SELECT looked_at;
END;

DROP PROCEDURE IF EXISTS shardid.refuse_number;
CREATE PROCEDURE shardid.refuse_number(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, id BIGINT UNSIGNED)
    READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'Fails, and says why a row may not have that number'
BEGIN
    DECLARE words TEXT;
    DECLARE last, largest, stop_at BIGINT UNSIGNED;
    SELECT t.last_ticket, t.max_ticket - t.servers, t.ceiling INTO last, largest, stop_at
    FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
    IF id = 0 THEN
        -- MySQL gives it once.
        SET words = concat('a row of ', ticket, ' has no number after SET insert_id = 0: hint: again');
    ELSEIF id <= last THEN
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
        SET words = left(concat('ticket ', ticket, ' does not exist: hint: shardid tickets status; with no cluster CALL shardid.create_flickr_tables(database(),1,1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT is_here THEN
        CALL shardid.refuse_elsewhere('ticket', ticket);
    ELSEIF @@insert_id <> 0 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no numbers where insert_id is set: hint: SET insert_id = 0';
    ELSEIF id > 0 AND NOT (id > last AND id % step_here = offset_here % step_here AND id <= largest - step_here AND id < coalesce(stop_at, id + 1)) THEN
        -- Here, since the table's counter would go on above it.
        IF id <= last THEN
            SET words = concat('number ', id, ' of ', ticket, ' was handed out before: hint: leave the id to the table');
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        CALL shardid.refuse_number(ticket, id);
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
    IF NOT EXISTS (SELECT 1 FROM shardid.ticket t WHERE t.name = ticket AND t.home = shardid.here() AND NOT t.raising <=> id) THEN
        LEAVE after_flickr;
    END IF;
    -- A client may have set them to what is no step; then it has the server's.
    SET SESSION auto_increment_increment = if(coalesce(CAST(@shardid_increment AS CHAR) REGEXP '^[1-9][0-9]{0,4}$' AND @shardid_increment <= 65535, FALSE),
                                              CAST(@shardid_increment AS UNSIGNED), @@GLOBAL.auto_increment_increment),
        SESSION auto_increment_offset = if(coalesce(CAST(@shardid_offset AS CHAR) REGEXP '^[1-9][0-9]{0,4}$' AND @shardid_offset <= 65535, FALSE),
                                           CAST(@shardid_offset AS UNSIGNED), @@GLOBAL.auto_increment_offset);
    SET @shardid_increment = NULL, @shardid_offset = NULL;
    UPDATE shardid.ticket t SET t.last_ticket = id
    WHERE t.name = ticket AND t.last_ticket < id AND id % t.servers = t.server % t.servers
      AND id <= t.max_ticket - t.servers AND id < coalesce(t.ceiling, id + 1);
    IF row_count() = 1 THEN
        LEAVE after_flickr;
    END IF;
    CALL shardid.refuse_number(ticket, id);
END;

DROP FUNCTION IF EXISTS shardid.refuse_ticket;
CREATE FUNCTION shardid.refuse_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, without_gaps BOOL)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'Fails, and says why a ticket has no number'
BEGIN
    DECLARE words TEXT;
    DECLARE stop_at, largest BIGINT UNSIGNED;
    DECLARE its_way, is_used, is_here BOOL;
    SELECT t.ceiling, t.max_ticket, t.gapless, t.last_ticket > t.`floor`, t.home <=> shardid.here()
    INTO stop_at, largest, its_way, is_used, is_here
    FROM shardid.ticket t WHERE t.name = ticket LOCK IN SHARE MODE;
    IF largest IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: shardid tickets status; with no cluster CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT is_here THEN
        CALL shardid.refuse_elsewhere('ticket', ticket);
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
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
        START TRANSACTION;
        SELECT t.last_ticket, t.max_ticket INTO last, largest FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
        IF last IS NULL THEN
            SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: shardid tickets status; with no cluster CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
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

DROP PROCEDURE IF EXISTS shardid.next_segment;
CREATE PROCEDURE shardid.next_segment(tag VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, wanted BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'The next segment, as a row of first, last and delta; NULL takes the tag''s own step'
BEGIN
    DECLARE words TEXT;
    DECLARE span, end_of_it, its_delta, its_remainder BIGINT;
    DECLARE is_here BOOL;
    SELECT s.delta, s.remainder, coalesce(wanted, s.step), s.home <=> shardid.here() INTO its_delta, its_remainder, span, is_here
    FROM shardid.segment s WHERE s.biz_tag = tag FOR UPDATE;
    IF its_delta IS NULL THEN
        CALL shardid.refuse_segment(tag);
    ELSEIF NOT is_here THEN
        CALL shardid.refuse_elsewhere('segment tag', tag);
    END IF;
    CALL shardid.check_span(tag, span, its_delta);
    UPDATE shardid.segment s SET s.max_id = last_insert_id(s.max_id + span), s.update_time = utc_timestamp(6)
    WHERE s.biz_tag = tag AND s.max_id <= 9223372036854775807 - span;
    IF row_count() = 0 THEN
        SET words = left(concat('segment tag ', tag, ' has no ', span, ' numbers left'), 128);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    SET end_of_it = last_insert_id();
    SELECT end_of_it - span + 1 + (its_remainder + its_delta - (end_of_it - span + 1) % its_delta) % its_delta AS first,
           end_of_it - (end_of_it % its_delta + its_delta - its_remainder) % its_delta AS last,
           its_delta AS delta;
END;
