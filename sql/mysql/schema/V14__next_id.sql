-- Ids. A session takes them in blocks that grow while it is busy (1, 2, 4 … 1024)
-- and hands a block out for a tenth of a second; what it knows lies in user
-- variables named @shardid_…, which belong to no transaction.
--
-- Nothing of a block may be handed out before the redo log has it, and only a
-- commit makes sure of that: after a rollback and a crash, a counter may be back
-- where it was. So each block has a row of its own. Whoever sees it is in the
-- transaction that took the block, or after its commit. MariaDB tells which: in a
-- later statement that is a transaction by itself, it is after the commit, and the
-- row need not be looked at again.
--
-- The clock is SYSDATE, which goes on within a statement and which `SET
-- timestamp` cannot move. For an id it is read in UTC, because in a time zone one
-- hour of the year comes twice. For the age of a block that would cost too much:
-- there it is what the session's zone says, and the statement, whose time is in
-- UTC, has to be of about the same second.
--
-- A place is a microsecond of the counter times `each`, the slots that the layout
-- has for one; where a slot takes several, `step` is how many. Within a tick, the
-- ids of a shard go up by one from place to place: such a run is all that most
-- calls have to look at.
--
-- It is one long function because each routine and each table that a function
-- could come to costs every call of it.

DROP FUNCTION IF EXISTS shardid.next_id;
CREATE FUNCTION shardid.next_id(shard BIGINT)
    RETURNS BIGINT NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'A new id of a shard'
BEGIN
    DECLARE session_us BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', sysdate(6));
    IF @shardid_committed AND @shardid_shard = shard AND @shardid_id < @shardid_run_id
       AND session_us BETWEEN @shardid_session_us AND @shardid_session_us + 100000
       AND abs(unix_timestamp() - @shardid_statement_s) <= 1 THEN
        SET @shardid_id = @shardid_id + 1;
        RETURN @shardid_id;
    END IF;
    BEGIN
        DECLARE block_row BIGINT UNSIGNED;
        IF session_us BETWEEN @shardid_session_us AND @shardid_session_us + 100000
           AND abs(unix_timestamp() - @shardid_statement_s) <= 1 THEN
            SELECT b.id INTO block_row FROM shardid.block b WHERE b.id = @shardid_block_row;
            /*M! SET @shardid_committed = @shardid_committed OR block_row IS NOT NULL AND NOT @@in_transaction AND utc_timestamp(6) <> @shardid_statement; */
            IF block_row IS NOT NULL AND @shardid_shard = shard AND @shardid_id < @shardid_run_id THEN
                SET @shardid_id = @shardid_id + 1;
                RETURN @shardid_id;
            END IF;
        END IF;
        BEGIN
            DECLARE words TEXT;
            DECLARE zone VARCHAR(64) CHARACTER SET utf8mb4 DEFAULT @@SESSION.time_zone;
            DECLARE of_layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
            DECLARE its_state VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
            DECLARE clock, epoch, tick, ticks, shards, slots, step, each_us, size, start_us, end_us, taken, place, since, run BIGINT;
            DECLARE looks INT DEFAULT 0;
            DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN DO release_lock('shardid.position'); RESIGNAL; END;
            -- The next place of the block at hand: less than all of its run may be used.
            SET place = @shardid_run_place - (@shardid_run_id - @shardid_id - 1) * @shardid_step, @shardid_shard = NULL;
            SELECT s.layout, s.state, s.epoch_us, s.tick_us, s.ticks, s.shards, s.slots
            INTO of_layout, its_state, epoch, tick, ticks, shards, slots
            FROM shardid.shard s WHERE s.shard = shard;
            IF its_state IS NULL THEN
                SET words = concat('shard ', coalesce(shard, 'NULL'), ' does not exist: hint: CALL shardid.create_shard(', coalesce(shard, 'NULL'), ', ''instagram'')');
                SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
            ELSEIF its_state = 'moved' THEN
                SET words = concat('shard ', shard, ' has moved to another server: hint: shardid map');
                SIGNAL SQLSTATE 'SI001' SET MESSAGE_TEXT = words;
            ELSEIF its_state = 'fenced' THEN
                SET words = concat('shard ', shard, ' is being moved: hint: try again in a second');
                SIGNAL SQLSTATE 'SI002' SET MESSAGE_TEXT = words;
            END IF;
            SET step = (tick + slots - 1) DIV slots, each_us = greatest(slots DIV tick, 1);
            IF NOT coalesce(block_row IS NOT NULL AND place <= @shardid_last_place AND @shardid_layout = of_layout, FALSE) THEN
                SET SESSION time_zone = '+00:00';
                SET clock = timestampdiff(MICROSECOND, '1970-01-01', sysdate(6));
                SET SESSION time_zone = zone;
                -- At most a quarter of what the layout has for the time that a block is good for.
                SET size = if(@shardid_layout = of_layout AND clock BETWEEN @shardid_taken_us AND @shardid_taken_us + 1000000,
                              greatest(least(@shardid_size * 2, 1024, slots * 25000 DIV tick), 1), 1);

                -- A user lock makes "look, then raise" one step, and is held for a few
                -- statements, never for a transaction. A row with a number of its own raises
                -- the counter for good. Rows go by their own keys: anything else could wait
                -- for those of others.
                IF NOT coalesce(get_lock('shardid.position', 10), FALSE) THEN
                    SET words = concat('could not take ids of shard ', shard, ' within 10 s');
                    SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
                END IF;
                INSERT INTO shardid.position () VALUES ();
                SET taken = last_insert_id();
                DELETE FROM shardid.position WHERE id = taken;
                -- Up to the next slot that nobody can have.
                SET start_us = greatest(taken, clock, epoch);
                SET start_us = start_us + (step - (start_us - epoch) % tick % step) % step;
                IF (start_us - epoch) DIV tick > (greatest(taken, clock, epoch) - epoch) DIV tick THEN
                    -- A tick is no whole number of steps: its first slot begins with it.
                    SET start_us = start_us - (start_us - epoch) % tick;
                END IF;
                IF start_us > clock + 10000000 THEN
                    -- As little as possible, where nothing may be handed out yet.
                    SET size = 1;
                END IF;
                SET end_us = start_us + (size + each_us - 1) DIV each_us * step - 1;
                IF step > 1 THEN
                    SET end_us = least(end_us, start_us - (start_us - epoch) % tick + tick - 1);
                END IF;
                IF end_us > taken THEN
                    INSERT INTO shardid.position (id) VALUES (end_us);
                    DELETE FROM shardid.position WHERE id = end_us;
                END IF;
                DO release_lock('shardid.position');

                -- Too far ahead of the clock. This place is ours already, so it may wait.
                WHILE start_us > clock + 10000000 DO
                    IF looks = 50 THEN
                        SET words = concat('shard ', shard, ' is ', (start_us - clock) DIV 1000000,
                            ' s ahead of the clock, and 10 s is the most: hint: set the clock right, or wait');
                        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
                    END IF;
                    DO sleep(0.02);
                    SET SESSION time_zone = '+00:00';
                    SET clock = timestampdiff(MICROSECOND, '1970-01-01', sysdate(6));
                    SET SESSION time_zone = zone;
                    SET looks = looks + 1;
                END WHILE;
                IF (end_us - epoch) DIV tick >= ticks THEN
                    SET words = concat('layout ', of_layout, ' has no ids left: its time is over: hint: SELECT name, ends_at FROM shardid.layouts');
                    SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
                END IF;
                SET @shardid_block_row = NULL, @shardid_committed = FALSE;
                IF size > 1 THEN
                    CALL shardid.note_block(@shardid_block_row);
                END IF;
                SET place = start_us * each_us, @shardid_last_place = (end_us + 1) * each_us - step,
                    @shardid_layout = of_layout, @shardid_step = step, @shardid_size = size, @shardid_taken_us = clock,
                    @shardid_session_us = session_us, @shardid_statement_s = unix_timestamp(), @shardid_statement = utc_timestamp(6);
            END IF;

            SET since = place DIV each_us - epoch;
            -- How many more places there are in this tick and in the block.
            SET run = (least(@shardid_last_place, (epoch + (since DIV tick + 1) * tick) * each_us - 1) - place) DIV step;
            SET @shardid_id = (since DIV tick * shards + shard) * slots + since % tick DIV step * each_us + place % each_us;
            SET @shardid_run_id = @shardid_id + run, @shardid_run_place = place + run * step, @shardid_shard = shard;
        END;
    END;
    RETURN @shardid_id;
END;
