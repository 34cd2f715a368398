-- Ids. A session takes them in blocks that grow while it is busy (1, 2, 4 … 1024)
-- and hands a block out for a tenth of a second; what it knows lies in user
-- variables named @shardid_…, which belong to no transaction.
--
-- Nothing of a block may be handed out before the redo log has it, and only a
-- commit makes sure of that: after a rollback and a crash, a counter may be back
-- where it was. So each block has a row of its own. Whoever sees it is in the
-- transaction that took the block, or after its commit.
--
-- The clock is SYSDATE, which goes on within a statement and which `SET
-- timestamp` cannot move; it is read in UTC, because in a time zone one hour of
-- the year comes twice.
--
-- A place is a microsecond of the counter times `each`, the slots that the layout
-- has for one; where a slot takes several, `step` is how many.

DROP FUNCTION IF EXISTS shardid.next_id;
CREATE FUNCTION shardid.next_id(shard BIGINT)
    RETURNS BIGINT NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'A new id of a shard'
BEGIN
    DECLARE zone VARCHAR(64) CHARACTER SET utf8mb4 DEFAULT @@SESSION.time_zone;
    DECLARE clock, since BIGINT;
    DECLARE block_row BIGINT UNSIGNED;
    SET SESSION time_zone = '+00:00';
    SET clock = timestampdiff(MICROSECOND, '1970-01-01', sysdate(6));
    SET SESSION time_zone = zone;
    IF @shardid_place < @shardid_last_place AND clock BETWEEN @shardid_taken_us AND @shardid_taken_us + 100000 THEN
        SELECT b.id INTO block_row FROM shardid.block b WHERE b.id = @shardid_block_row;
    END IF;
    IF block_row IS NOT NULL AND @shardid_shard = shard THEN
        SET @shardid_place = @shardid_place + @shardid_step;
    ELSE
        CALL shardid.take_block(shard, clock, block_row IS NOT NULL);
    END IF;
    SET since = @shardid_place DIV @shardid_each - @shardid_epoch_us;
    RETURN (since DIV @shardid_tick_us * @shardid_shards + shard) * @shardid_slots
           + since % @shardid_tick_us DIV @shardid_step * @shardid_each + @shardid_place % @shardid_each;
END;

DROP PROCEDURE IF EXISTS shardid.take_block;
CREATE PROCEDURE shardid.take_block(of_shard BIGINT, clock BIGINT, has_block BOOL)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Goes on with a shard: in the block at hand where its layout is the same, else with a new one'
take_block: BEGIN
    DECLARE words TEXT;
    DECLARE zone VARCHAR(64) CHARACTER SET utf8mb4 DEFAULT @@SESSION.time_zone;
    DECLARE of_layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE its_state VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE epoch, tick, ticks, shards, slots, step, each_us, size, start_us, end_us, taken, own_row BIGINT;
    DECLARE looks INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN DO release_lock('shardid.position'); RESIGNAL; END;
    SET @shardid_shard = NULL;
    SELECT s.layout, s.state, l.epoch_us, l.tick_us, l.ticks, l.shards, l.slots
    INTO of_layout, its_state, epoch, tick, ticks, shards, slots
    FROM shardid.shard s JOIN shardid.layout l ON l.name = s.layout WHERE s.shard = of_shard;
    IF its_state IS NULL THEN
        SET words = concat('shard ', coalesce(of_shard, 'NULL'), ' does not exist: hint: CALL shardid.create_shard(', coalesce(of_shard, 'NULL'), ', ''instagram'')');
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF its_state = 'moved' THEN
        SET words = concat('shard ', of_shard, ' has moved to another server: hint: shardid map');
        SIGNAL SQLSTATE 'SI001' SET MESSAGE_TEXT = words;
    ELSEIF its_state = 'fenced' THEN
        SET words = concat('shard ', of_shard, ' is being moved: hint: try again in a second');
        SIGNAL SQLSTATE 'SI002' SET MESSAGE_TEXT = words;
    ELSEIF has_block AND @shardid_layout = of_layout THEN
        SET @shardid_shard = of_shard, @shardid_place = @shardid_place + @shardid_step;
        LEAVE take_block;
    END IF;
    SET step = (tick + slots - 1) DIV slots, each_us = greatest(slots DIV tick, 1);
    -- At most a quarter of what the layout has for the time that a block is good for.
    SET size = if(@shardid_layout = of_layout AND clock BETWEEN @shardid_taken_us AND @shardid_taken_us + 1000000,
                  greatest(least(@shardid_size * 2, 1024, slots * 25000 DIV tick), 1), 1);

    -- A user lock makes "look, then raise" one step, and is held for a few
    -- statements, never for a transaction. A row with a number of its own raises
    -- the counter for good. Rows go by their own keys: anything else could wait
    -- for those of others.
    IF NOT coalesce(get_lock('shardid.position', 10), FALSE) THEN
        SET words = concat('could not take ids of shard ', of_shard, ' within 10 s');
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
            SET words = concat('shard ', of_shard, ' is ', (start_us - clock) DIV 1000000,
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
    IF size > 1 THEN
        INSERT INTO shardid.block () VALUES ();
        SET own_row = last_insert_id();
        -- An old row of somebody's goes. It has no use any more, and a session that
        -- misses its row takes another block.
        CALL shardid.clear_block(own_row - 5040);
    END IF;
    SET @shardid_shard = of_shard, @shardid_layout = of_layout, @shardid_epoch_us = epoch, @shardid_tick_us = tick,
        @shardid_shards = shards, @shardid_slots = slots, @shardid_step = step, @shardid_each = each_us,
        @shardid_place = start_us * each_us, @shardid_last_place = (end_us + 1) * each_us - step,
        @shardid_taken_us = clock, @shardid_size = size, @shardid_block_row = own_row;
END;
