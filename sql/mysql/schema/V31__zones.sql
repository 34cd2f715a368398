-- As in V24__read_ids.sql, but of zones that there are: +14:00 is the furthest, and -13:59.

DROP FUNCTION IF EXISTS shardid.id_at_in;
CREATE FUNCTION shardid.id_at_in(
    at VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The lowest id of an instant, in UTC where it has no zone such as +02:00, in a layout; 0 before its epoch'
BEGIN
    DECLARE words TEXT;
    DECLARE instant DATETIME(6);
    DECLARE minutes INT DEFAULT 0;
    DECLARE since, most, per_tick BIGINT;
    IF at IS NULL OR shardid.check_id(0, layout) IS NULL THEN
        RETURN NULL;
    ELSEIF at REGEXP ':[0-9.]+[-+][0-9][0-9]:[0-9][0-9]$' THEN
        SET minutes = substr(at, -5, 2) * 60 + right(at, 2);
        IF substr(at, -6, 1) = '-' THEN
            SET minutes = -minutes;
        END IF;
        IF minutes NOT BETWEEN -839 AND 840 OR right(at, 2) > 59 THEN
            SET words = left(concat('not a time zone: ', right(at, 6), ': hint: -13:59 to +14:00'), 128);
            SIGNAL SQLSTATE '22007' SET MESSAGE_TEXT = words;
        END IF;
        SET instant = left(at, char_length(at) - 6);
    ELSEIF at REGEXP ':[0-9.]+[Zz]$' THEN
        SET instant = left(at, char_length(at) - 1);
    ELSE
        SET instant = at;
    END IF;
    SET instant = instant - INTERVAL minutes MINUTE;
    -- DIV cuts towards zero, which is the tick itself from the epoch on.
    SELECT greatest(timestampdiff(MICROSECOND, '1970-01-01', instant) - l.epoch_us, 0) DIV l.tick_us, l.ticks, l.shards * l.slots
    INTO since, most, per_tick FROM shardid.layout l WHERE l.name = layout;
    IF since >= most THEN
        SET words = left(concat(at, ' is past the end of layout ', layout, ': hint: SELECT name, ends_at FROM shardid.layouts'), 128);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    RETURN since * per_tick;
END;
