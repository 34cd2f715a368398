-- Ids taken apart, and put together for a search by time. Times are DATETIME(6)
-- in UTC, whatever the session's time zone is. Those without a layout speak of
-- `instagram`; the name of the others ends in `_in`, since a function cannot have
-- two lists of arguments here. All give NULL for NULL.

DROP FUNCTION IF EXISTS shardid.check_id;
CREATE FUNCTION shardid.check_id(id BIGINT, layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The id, or an error where the layout does not exist or has no such id'
BEGIN
    DECLARE words TEXT;
    DECLARE largest BIGINT;
    -- The product of the largest layouts is one more than a BIGINT holds.
    SELECT CAST(CAST(l.ticks AS UNSIGNED) * CAST(l.shards AS UNSIGNED) * CAST(l.slots AS UNSIGNED) - 1 AS SIGNED)
    INTO largest FROM shardid.layout l WHERE l.name = layout;
    IF largest IS NULL AND layout IS NOT NULL THEN
        SET words = left(concat('layout ', layout, ' does not exist: hint: SELECT name FROM shardid.layouts'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF id < 0 THEN
        SET words = concat('id ', id, ' is negative');
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    ELSEIF id > largest THEN
        SET words = concat('id ', id, ' is beyond the last id of layout ', layout, ', ', largest);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    RETURN id;
END;

DROP FUNCTION IF EXISTS shardid.id_time_in;
CREATE FUNCTION shardid.id_time_in(id BIGINT, layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS DATETIME(6) DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'When an id was made, to the tick, in UTC, in a layout'
BEGIN
    IF shardid.check_id(id, layout) IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT timestamp('1970-01-01') + INTERVAL (l.epoch_us + id DIV (l.shards * l.slots) * l.tick_us) MICROSECOND
            FROM shardid.layout l WHERE l.name = layout);
END;

DROP FUNCTION IF EXISTS shardid.id_time;
CREATE FUNCTION shardid.id_time(id BIGINT)
    RETURNS DATETIME(6) DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'When an id was made, to the tick, in UTC'
    RETURN shardid.id_time_in(id, 'instagram');

DROP FUNCTION IF EXISTS shardid.id_shard_in;
CREATE FUNCTION shardid.id_shard_in(id BIGINT, layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The shard of an id, in a layout'
BEGIN
    IF shardid.check_id(id, layout) IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT id DIV l.slots % l.shards
            FROM shardid.layout l WHERE l.name = layout);
END;

DROP FUNCTION IF EXISTS shardid.id_shard;
CREATE FUNCTION shardid.id_shard(id BIGINT)
    RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The shard of an id'
    RETURN shardid.id_shard_in(id, 'instagram');

DROP FUNCTION IF EXISTS shardid.id_slot_in;
CREATE FUNCTION shardid.id_slot_in(id BIGINT, layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The number of an id within its shard and tick, in a layout'
BEGIN
    IF shardid.check_id(id, layout) IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT id % l.slots
            FROM shardid.layout l WHERE l.name = layout);
END;

DROP FUNCTION IF EXISTS shardid.id_slot;
CREATE FUNCTION shardid.id_slot(id BIGINT)
    RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The number of an id within its shard and tick'
    RETURN shardid.id_slot_in(id, 'instagram');

DROP FUNCTION IF EXISTS shardid.id_parts_in;
CREATE FUNCTION shardid.id_parts_in(id BIGINT, layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS JSON DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'Time, shard and slot of an id, in a layout'
BEGIN
    IF shardid.check_id(id, layout) IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT json_object('time', date_format(shardid.id_time_in(id, l.name), '%Y-%m-%dT%H:%i:%s.%fZ'), 'shard', shardid.id_shard_in(id, l.name), 'slot', shardid.id_slot_in(id, l.name))
            FROM shardid.layout l WHERE l.name = layout);
END;

DROP FUNCTION IF EXISTS shardid.id_parts;
CREATE FUNCTION shardid.id_parts(id BIGINT)
    RETURNS JSON DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'Time, shard and slot of an id'
    RETURN shardid.id_parts_in(id, 'instagram');

DROP FUNCTION IF EXISTS shardid.id_at_in;
CREATE FUNCTION shardid.id_at_in(at DATETIME(6), layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The lowest id of an instant in UTC, in a layout; 0 before its epoch'
BEGIN
    DECLARE words TEXT;
    DECLARE since, most, per_tick BIGINT;
    -- DIV cuts towards zero, which is the tick itself from the epoch on.
    SELECT greatest(timestampdiff(MICROSECOND, '1970-01-01', at) - l.epoch_us, 0) DIV l.tick_us, l.ticks, l.shards * l.slots
    INTO since, most, per_tick FROM shardid.layout l WHERE l.name = layout;
    IF at IS NULL OR shardid.check_id(0, layout) IS NULL THEN
        RETURN NULL;
    ELSEIF since >= most THEN
        SET words = concat(at, ' is past the end of layout ', layout, ': hint: SELECT name, ends_at FROM shardid.layouts');
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    RETURN since * per_tick;
END;

DROP FUNCTION IF EXISTS shardid.id_at;
CREATE FUNCTION shardid.id_at(at DATETIME(6))
    RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The lowest id of an instant in UTC: WHERE id >= shardid.id_at(utc_timestamp() - INTERVAL 1 DAY)'
    RETURN shardid.id_at_in(at, 'instagram');
