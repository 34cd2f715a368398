-- Ids. A session takes positions in blocks that grow while it is busy (1, 2, 4 …
-- 256) and hands a block out for 20 ms; what it knows lies in user variables
-- named @shardid_…, which belong to no transaction either. Only taking a block
-- has to be in the redo log before an id of it is known, which the end of the
-- transaction sees to, commit or rollback.
--
-- The clock is SYSDATE, which goes on within a statement and which `SET
-- timestamp` cannot move; it is read in UTC, because in a time zone one hour of
-- the year comes twice.

DROP FUNCTION IF EXISTS shardid.clock_us;
CREATE FUNCTION shardid.clock_us()
    RETURNS BIGINT NOT DETERMINISTIC NO SQL SQL SECURITY DEFINER
    COMMENT 'The clock in microseconds since 1970, UTC'
BEGIN
    DECLARE zone VARCHAR(64) CHARACTER SET utf8mb4 DEFAULT @@SESSION.time_zone;
    DECLARE clock BIGINT;
    SET SESSION time_zone = '+00:00';
    SET clock = timestampdiff(MICROSECOND, '1970-01-01', sysdate(6));
    SET SESSION time_zone = zone;
    RETURN clock;
END;

DROP PROCEDURE IF EXISTS shardid.take_block;
CREATE PROCEDURE shardid.take_block(of_shard BIGINT, clock BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Goes on with a shard: in the block at hand where its layout is the same, else with a new one'
take_block: BEGIN
    DECLARE words TEXT;
    DECLARE of_layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE its_state VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE epoch, tick, ticks, shards, slots, block, furthest, first_position, last_position BIGINT;
    DECLARE looks INT DEFAULT 0;
    SET @shardid_shard = NULL;
    SELECT s.layout, s.state, l.epoch_us, l.tick_us, l.ticks, l.shards, l.slots
    INTO of_layout, its_state, epoch, tick, ticks, shards, slots
    FROM shardid.shard s JOIN shardid.layout l ON l.name = s.layout WHERE s.shard = of_shard;
    IF NOT coalesce(its_state = 'open', FALSE) THEN
        CALL shardid.refuse_shard(of_shard, its_state);
    END IF;
    IF @shardid_layout = of_layout AND @shardid_position < @shardid_last_position
        AND clock BETWEEN @shardid_taken_us AND @shardid_taken_us + 20000 THEN
        SET @shardid_shard = of_shard, @shardid_position = @shardid_position + 1;
        LEAVE take_block;
    END IF;

    -- At most a quarter of what the layout has for the time that a block is good for.
    SET block = if(@shardid_layout = of_layout AND clock BETWEEN @shardid_taken_us AND @shardid_taken_us + 100000,
                   greatest(least(@shardid_block * 2, 256, slots * 5000 DIV tick), 1), 1);
    SET furthest = (clock - epoch + 10000000) DIV tick;
    CALL shardid.take_positions(of_layout, (clock - epoch) DIV tick * slots, (furthest + 1) * slots - 1, block,
        first_position, last_position);
    -- Too far ahead of the clock. This position is ours already, so it may wait.
    WHILE first_position DIV slots > furthest DO
        IF looks = 50 THEN
            SET words = concat('shard ', of_shard, ' is ', (first_position DIV slots * tick - clock + epoch) DIV 1000000,
                ' s ahead of the clock, and 10 s is the most: hint: set the clock right, or wait');
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        DO sleep(0.02);
        SET looks = looks + 1, clock = shardid.clock_us();
        SET furthest = (clock - epoch + 10000000) DIV tick;
    END WHILE;
    IF last_position DIV slots >= ticks THEN
        SET words = concat('layout ', of_layout, ' has no ids left: its time is over: hint: SELECT name, ends_at FROM shardid.layouts');
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    SET @shardid_shard = of_shard, @shardid_layout = of_layout, @shardid_shards = shards, @shardid_slots = slots,
        @shardid_position = first_position, @shardid_last_position = last_position,
        @shardid_taken_us = clock, @shardid_block = block;
END;

DROP FUNCTION IF EXISTS shardid.next_id;
CREATE FUNCTION shardid.next_id(shard BIGINT)
    RETURNS BIGINT NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'A new id of a shard'
BEGIN
    DECLARE clock BIGINT DEFAULT shardid.clock_us();
    IF @shardid_shard = shard AND @shardid_position < @shardid_last_position
        AND clock BETWEEN @shardid_taken_us AND @shardid_taken_us + 20000 THEN
        SET @shardid_position = @shardid_position + 1;
    ELSE
        CALL shardid.take_block(shard, clock);
    END IF;
    RETURN (@shardid_position DIV @shardid_slots * @shardid_shards + shard) * @shardid_slots
           + @shardid_position % @shardid_slots;
END;

DROP PROCEDURE IF EXISTS shardid.refuse_shard;
CREATE PROCEDURE shardid.refuse_shard(shard BIGINT, state VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    NO SQL SQL SECURITY DEFINER
    COMMENT 'Fails, and says why a shard has no ids'
BEGIN
    DECLARE words TEXT;
    IF state = 'moved' THEN
        SET words = concat('shard ', shard, ' has moved to another server: hint: shardid map');
        SIGNAL SQLSTATE 'SI001' SET MESSAGE_TEXT = words;
    ELSEIF state = 'fenced' THEN
        SET words = concat('shard ', shard, ' is being moved: hint: try again in a second');
        SIGNAL SQLSTATE 'SI002' SET MESSAGE_TEXT = words;
    END IF;
    SET words = concat('shard ', coalesce(shard, 'NULL'), ' does not exist: hint: CALL shardid.create_shard(', coalesce(shard, 'NULL'), ', ''instagram'')');
    SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
END;
