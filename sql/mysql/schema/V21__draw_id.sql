-- Ids. A number is drawn from the counter; where it lags behind the clock, a row with
-- the clock's number raises the counter, and another is drawn. What is handed out is always
-- what the counter gave, never what raised it. So no id comes twice, whatever
-- the clock says and however many sessions raise the counter to whatever number.
--
-- Nothing else decides: no user variable, no lock that outlives a statement, no
-- setting that is changed and has to be put back. A statement that is killed
-- leaves nothing behind.
--
-- The clock is that of the statement, which has no time zone; in a long statement ids
-- go on by the counter. SYSDATE tells where `SET timestamp` has moved the clock forward.
-- Raising costs as much as drawing twice, so it is done 10 ms behind the clock, to 10 ms
-- ahead of it.
--
-- Numbers are at least a slot apart, so numbers of one tick have different slots.
--
-- It is one function because each routine and each table that a function could come to
-- costs every call of it. A SELECT in an expression costs a third of SELECT … INTO, so the
-- id is worked out there; only where that gives none, the rest is looked at.

DROP FUNCTION IF EXISTS shardid.next_id;

-- From here on nobody draws from the counter of before. Go on above it.
INSERT INTO shardid.position () VALUES ();
INSERT IGNORE INTO shardid.counter (id, session) SELECT max(p.id) + 1, 0 FROM shardid.position p;
INSERT IGNORE INTO shardid.counter_128 (id, session) SELECT max(p.id) DIV 128 + 2, 0 FROM shardid.position p;
DELETE FROM shardid.counter WHERE id > 1 AND session = 0;
DELETE FROM shardid.counter_128 WHERE id > 1 AND session = 0;

CREATE FUNCTION shardid.next_id(shard BIGINT)
    RETURNS BIGINT NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'A new id of a shard'
BEGIN
    DECLARE clock BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6));
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE of_layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE its_state VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE words TEXT;
    DECLARE new_id, epoch, tick, ticks, shards, slots, drawn, at, ahead, since BIGINT;
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

    -- Too far ahead of the clock as it is now, which a zone may have wrong by an hour,
    -- but not in both ways at once. This number is ours already, so it may wait.
    ahead: WHILE at > clock + 10000000 DO
        SET ahead = at - greatest(clock + timestampdiff(MICROSECOND, now(6), sysdate(6)),
                                  coalesce(timestampdiff(MICROSECOND, '1970-01-01', convert_tz(sysdate(6), @@SESSION.time_zone, '+00:00')), 0));
        IF ahead <= 10000000 THEN
            LEAVE ahead;
        ELSEIF looks = 50 THEN
            SET words = concat('shard ', shard, ' is ', ahead DIV 1000000, ' s ahead of the clock, and 10 s is the most: hint: set the clock right, or wait');
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
