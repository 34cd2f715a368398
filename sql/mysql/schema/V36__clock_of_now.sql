-- As in V21__draw_id.sql and V28__adopt.sql, but the clock is that of now, whatever a session has set.
--
-- Where ids are ahead of the statement's clock, next_id looks at that of now: the statement's, and what has gone by
-- since by the clock on the wall, which is out by an hour where one of the two is in summer time and the
-- other is not. `SET timestamp` to a day of winter made that so, and ids went an hour ahead. Now it
-- counts only where it reads as the wall does in the session's zone; else the wall is read. Both say
-- the same but in the hour that comes twice. adopt() went by `timestamp` as well.

DROP FUNCTION IF EXISTS shardid.next_id;
CREATE FUNCTION shardid.next_id(shard BIGINT)
    RETURNS BIGINT NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'A new id of a shard'
BEGIN
    DECLARE clock BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6));
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE of_layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE its_state VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE words TEXT;
    DECLARE new_id, epoch, tick, ticks, shards, slots, drawn, at, ahead, since, present BIGINT;
    DECLARE wall DATETIME(6);
    DECLARE draws, looks INT DEFAULT 0;
    DECLARE raised BOOL DEFAULT FALSE;
    DECLARE is_here BOOL;
    IF @@insert_id <> 0 THEN
        -- It would take the place of what the counter gives.
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no ids where insert_id is set: hint: SET insert_id = 0';
    ELSEIF @@auto_increment_increment > 100 THEN
        -- Each id would use up as many numbers: soon all ids would be ahead of the clock.
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no ids where auto_increment_increment is above 100: hint: SET auto_increment_increment = 1';
    ELSEIF timestampdiff(MICROSECOND, sysdate(6), now(6)) > 1000000 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no ids where timestamp is set ahead of the clock: hint: SET timestamp = DEFAULT';
    END IF;

    draw: LOOP
        INSERT INTO shardid.counter (session) VALUES (me);
        SET drawn = last_insert_id();
        DELETE FROM shardid.counter WHERE id = drawn AND session = me;
        IF row_count() = 0 THEN
            -- `SET insert_id = 0` gives 0 once, and last_insert_id a number of before.
            DELETE FROM shardid.counter WHERE id = 0 AND session = me;
            SET draws = draws + 1;
        ELSEIF drawn < clock - 10000 AND NOT raised THEN
            INSERT INTO shardid.counter (id, session) VALUES (clock + 10000, me);
            DELETE FROM shardid.counter WHERE id = clock + 10000 AND session = me;
            SET raised = TRUE;
        ELSE
            LEAVE draw;
        END IF;
        IF draws > 2 THEN
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'could not draw from the counter of ids: hint: connect anew';
        END IF;
    END LOOP;
    SET new_id = (SELECT ((drawn - s.epoch_us) DIV s.tick_us * s.shards + s.shard) * s.slots
                     + (drawn - s.epoch_us) % s.tick_us * s.slots DIV s.tick_us
              FROM shardid.shard s
              WHERE s.shard = shard AND s.state = 'open' AND s.home = concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */)
                AND s.slots >= s.tick_us
                AND drawn BETWEEN s.epoch_us AND clock + 10000000
                AND (drawn - s.epoch_us) DIV s.tick_us < s.ticks);
    IF new_id IS NOT NULL THEN
        RETURN new_id;
    END IF;

    -- There is something about the shard, or the layout has few slots, or ids are ahead of the clock.
    SELECT s.layout, s.state, s.epoch_us, s.tick_us, s.ticks, s.shards, s.slots, s.home <=> concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */)
    INTO of_layout, its_state, epoch, tick, ticks, shards, slots, is_here
    FROM shardid.shard s WHERE s.shard = shard;
    IF its_state IS NULL THEN
        SET words = concat('shard ', coalesce(shard, 'NULL'), ' does not exist: hint: CALL shardid.create_shard(', coalesce(shard, 'NULL'), ', ''instagram'')');
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT is_here THEN
        SET words = concat('shard ', shard, ' is of the server that this one was made from: hint: CALL shardid.adopt()');
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF its_state = 'moved' THEN
        SET words = concat('shard ', shard, ' has moved to another server: hint: shardid map');
        SIGNAL SQLSTATE 'SI001' SET MESSAGE_TEXT = words;
    ELSEIF its_state = 'fenced' THEN
        SET words = concat('shard ', shard, ' is being moved: hint: try again in a second');
        SIGNAL SQLSTATE 'SI002' SET MESSAGE_TEXT = words;
    ELSEIF slots >= tick THEN
        SET at = drawn;
    ELSEIF slots * 128 >= tick THEN
        SET raised = FALSE;
        draw: LOOP
            INSERT INTO shardid.counter_128 (session) VALUES (me);
            SET drawn = last_insert_id();
            DELETE FROM shardid.counter_128 WHERE id = drawn AND session = me;
            IF row_count() = 0 THEN
                DELETE FROM shardid.counter_128 WHERE id = 0 AND session = me;
                SET draws = draws + 1;
            ELSEIF drawn < (clock - 10000) DIV 128 AND NOT raised THEN
                INSERT INTO shardid.counter_128 (id, session) VALUES ((clock + 10000) DIV 128, me);
                DELETE FROM shardid.counter_128 WHERE id = (clock + 10000) DIV 128 AND session = me;
                SET raised = TRUE;
            ELSE
                LEAVE draw;
            END IF;
            IF draws > 2 THEN
                SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'could not draw from the counter of ids: hint: connect anew';
            END IF;
        END LOOP;
        SET at = drawn * 128;
    ELSE
        SET words = left(concat('layout ', of_layout, ' has too few slots: hint: one in 128 microseconds is the least'), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    END IF;

    -- Too far ahead of the clock as it is now. This number is ours already, so it may wait.
    ahead: WHILE at > clock + 10000000 DO
        SET wall = sysdate(6);
        SET present = clock + timestampdiff(MICROSECOND, now(6), wall);
        IF NOT convert_tz(timestampadd(MICROSECOND, present, '1970-01-01'), '+00:00', @@SESSION.time_zone) <=> wall THEN
            -- The zone had another offset when the statement began, or at the time that `timestamp` is set to.
            SET present = coalesce(timestampdiff(MICROSECOND, '1970-01-01', convert_tz(wall, @@SESSION.time_zone, '+00:00')), 0);
        END IF;
        SET ahead = at - present;
        IF ahead <= 10000000 THEN
            LEAVE ahead;
        ELSEIF looks = 50 THEN
            SET words = left(concat('shard ', shard, ' is ', ahead DIV 1000000, ' s ahead of the clock, 10 s is the most: hint: set it right, then CALL shardid.lower_counters(), or wait'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        DO sleep(0.02);
        SET looks = looks + 1;
    END WHILE;

    SET since = at - epoch;
    IF since < 0 THEN
        SET words = left(concat('the clock is before the first instant of layout ', of_layout, ': hint: set the clock right'), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF since DIV tick >= ticks THEN
        SET words = concat('layout ', of_layout, ' has no ids left: its time is over: hint: SELECT name, ends_at FROM shardid.layouts');
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    RETURN (since DIV tick * shards + shard) * slots + since % tick * slots DIV tick;
END;

DROP PROCEDURE IF EXISTS shardid.adopt_leaving_out;
CREATE PROCEDURE shardid.adopt_leaving_out(how_many BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Hands out here what another server did, leaving out so many numbers of each ticket'
BEGIN
    DECLARE here VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT shardid.here();
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE ahead BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000;
    DECLARE words TEXT;
    DECLARE last_64, last_32 BIGINT UNSIGNED;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    IF NOT coalesce(how_many BETWEEN 0 AND 1000000000000, FALSE) THEN
        SET words = concat('cannot leave out ', coalesce(how_many, 'NULL'), ' numbers: hint: 0 to 1000000000000');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    ELSEIF timestampdiff(MICROSECOND, sysdate(6), now(6)) > 1000000 OR timestampdiff(MICROSECOND, now(6), sysdate(6)) > 1000000 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'nothing is adopted where timestamp is set: hint: SET timestamp = DEFAULT';
    END IF;
    IF EXISTS (SELECT 1 FROM shardid.shard s WHERE NOT s.home <=> here) THEN
        START TRANSACTION;
        INSERT INTO shardid.counter (id, session) VALUES (ahead, me);
        DELETE FROM shardid.counter WHERE id = ahead AND session = me;
        INSERT INTO shardid.counter_128 (id, session) VALUES (ahead DIV 128 + 1, me);
        DELETE FROM shardid.counter_128 WHERE id = ahead DIV 128 + 1 AND session = me;
        COMMIT;
        -- Then nobody is refused because ids are more than 10 s ahead of the clock.
        DO sleep(1.1);
        UPDATE shardid.shard s SET s.home = here WHERE NOT s.home <=> here;
    END IF;
    START TRANSACTION;
    UPDATE shardid.ticket_block b SET b.numbers = 0 WHERE b.numbers > 0;
    SELECT max(CASE t.name WHEN 'Tickets64' THEN t.last_ticket END), max(CASE t.name WHEN 'Tickets32' THEN t.last_ticket END)
    INTO last_64, last_32 FROM shardid.ticket t WHERE NOT t.home <=> here;
    UPDATE shardid.ticket t
    SET t.last_ticket = t.last_ticket + how_many * t.servers, t.home = here
    WHERE NOT t.home <=> here AND NOT t.gapless
      AND t.last_ticket + how_many * t.servers <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket));
    IF last_64 IS NOT NULL THEN
        CALL shardid.raise_table('Tickets64', (SELECT t.last_ticket FROM shardid.ticket t WHERE t.name = 'Tickets64'));
    END IF;
    IF last_32 IS NOT NULL THEN
        CALL shardid.raise_table('Tickets32', (SELECT t.last_ticket FROM shardid.ticket t WHERE t.name = 'Tickets32'));
    END IF;
    -- A hundred segments for a million numbers, where that is more.
    UPDATE shardid.segment s
    SET s.max_id = s.max_id + greatest(how_many, how_many DIV 10000 * s.step), s.home = here
    WHERE NOT s.home <=> here AND s.max_id <= 9223372036854775807 - greatest(how_many, how_many DIV 10000 * s.step);
    COMMIT;
    SELECT 'ticket' AS what, t.name, t.last_ticket AS goes_on_above, t.home <=> here AS adopted FROM shardid.ticket t
    UNION ALL SELECT 'segment tag', s.biz_tag, s.max_id, s.home <=> here FROM shardid.segment s
    UNION ALL SELECT 'shards', count(*), NULL, coalesce(min(s.home <=> here), TRUE) FROM shardid.shard s
    ORDER BY 1, 2;
END;
