-- As in V12__shard.sql, but for layouts that the counter of 128 microseconds is too
-- coarse for: there are none of those that come with shardid.

DROP PROCEDURE IF EXISTS shardid.create_shard;
CREATE PROCEDURE shardid.create_shard(
    shard BIGINT, layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Makes a shard: next_id(shard) hands out its ids from now on'
BEGIN
    DECLARE words TEXT;
    DECLARE most, least_slots, has_slots BIGINT;
    DECLARE EXIT HANDLER FOR 1062 BEGIN
        SET words = concat('shard ', shard, ' exists already: hint: SELECT * FROM shardid.shards');
        SIGNAL SQLSTATE '42710' SET MESSAGE_TEXT = words;
    END;
    SELECT l.shards, (l.tick_us + 127) DIV 128, l.slots INTO most, least_slots, has_slots
    FROM shardid.layout l WHERE l.name = layout;
    IF most IS NULL THEN
        SET words = left(concat('layout ', coalesce(layout, 'NULL'), ' does not exist: hint: SELECT name FROM shardid.layouts'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT coalesce(shard BETWEEN 0 AND most - 1, FALSE) THEN
        SET words = concat('shard ', coalesce(shard, 'NULL'), ' is outside 0 to ', most - 1, ' of layout ', layout);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    ELSEIF has_slots < least_slots THEN
        SET words = left(concat('layout ', layout, ' has ', has_slots, ' slots in a tick: hint: ', least_slots, ' are the least'), 128);
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    END IF;
    INSERT INTO shardid.shard (shard, layout, created_at, epoch_us, tick_us, ticks, shards, slots)
    SELECT shard, l.name, utc_timestamp(6), l.epoch_us, l.tick_us, l.ticks, l.shards, l.slots
    FROM shardid.layout l WHERE l.name = layout;
END;
