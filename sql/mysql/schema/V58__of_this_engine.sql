-- What a MariaDB server is known by was its server_id alone. A dump of it says that in the words that MariaDB has kept, and on a MySQL
-- server with the same server_id those were of here: both handed out the same numbers and ids. Now the words ask
-- which engine it is, and on MySQL they are not what any row says. On MariaDB they are what they were, so rows stay as
-- they are; MySQL's server_uuid is none of MariaDB, which refuses a dump that asks for it.

DROP FUNCTION IF EXISTS shardid.here;
CREATE FUNCTION shardid.here()
    RETURNS VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'What this server is known by, and no other'
    RETURN concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! if(version() LIKE '%MariaDB%', '', 'MariaDB '), @@GLOBAL.server_id */);

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
    IF concat('', @@GLOBAL.read_only) NOT IN ('0', 'OFF') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT =
            'the server is read-only: hint: ask the one that takes writes; if it is this one, SET GLOBAL read_only = 0';
    ELSEIF @@insert_id <> 0 THEN
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
              WHERE s.shard = shard AND s.state = 'open' AND s.home = concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! if(version() LIKE '%MariaDB%', '', 'MariaDB '), @@GLOBAL.server_id */)
                AND s.slots >= s.tick_us
                AND drawn BETWEEN s.epoch_us AND clock + 10000000
                AND (drawn - s.epoch_us) DIV s.tick_us < s.ticks);
    IF new_id IS NOT NULL THEN
        RETURN new_id;
    END IF;

    -- There is something about the shard, or the layout has few slots, or ids are ahead of the clock.
    SELECT s.layout, s.state, s.epoch_us, s.tick_us, s.ticks, s.shards, s.slots, s.home <=> concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! if(version() LIKE '%MariaDB%', '', 'MariaDB '), @@GLOBAL.server_id */)
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

DROP FUNCTION IF EXISTS shardid.take_tickets;
CREATE FUNCTION shardid.take_tickets(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, how_many BIGINT, without_gaps BOOL)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'What next_ticket, next_tickets and next_ticket_gapless do'
BEGIN
    DECLARE words TEXT;
    DECLARE found INT;
    DECLARE held BOOL DEFAULT FALSE;
    IF concat('', @@GLOBAL.read_only) NOT IN ('0', 'OFF') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT =
            'the server is read-only: hint: ask the one that takes writes; if it is this one, SET GLOBAL read_only = 0';
    END IF;
    take: LOOP
        UPDATE shardid.ticket t
        SET t.last_ticket = last_insert_id(t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers)
                            + (how_many - 1) * t.servers,
            t.gapless = without_gaps
        WHERE how_many BETWEEN 1 AND 1000000 AND t.name = ticket AND t.home = concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! if(version() LIKE '%MariaDB%', '', 'MariaDB '), @@GLOBAL.server_id */) AND t.name NOT IN ('Tickets32', 'Tickets64')
          AND (t.gapless = without_gaps OR without_gaps AND t.last_ticket = t.`floor`)
          AND t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers
              + (how_many - 1) * t.servers <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket));
        IF row_count() = 1 THEN
            RETURN last_insert_id();
        ELSEIF held THEN
            LEAVE take;
        END IF;
        -- READ COMMITTED lets go of a row that does not fit: what is said of it is to be so, and a
        -- number that somebody has made possible meanwhile is taken.
        SELECT count(*) INTO found FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
        SET held = TRUE;
    END LOOP;
    IF NOT coalesce(how_many BETWEEN 1 AND 1000000, FALSE) THEN
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
    DECLARE here VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! if(version() LIKE '%MariaDB%', '', 'MariaDB '), @@GLOBAL.server_id */);
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
