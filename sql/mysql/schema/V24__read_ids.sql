-- Three functions of before that did not mean the same on both engines, or took what is no id.

-- A letter of another alphabet is not an I, though it is one in upper case: ı.
DROP FUNCTION IF EXISTS shardid.id_from_text;
CREATE FUNCTION shardid.id_from_text(id_text TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT DETERMINISTIC NO SQL SQL SECURITY DEFINER
    COMMENT 'The id of a text; lower case will do, and I, L, O for 1, 1, 0'
BEGIN
    DECLARE words TEXT CHARACTER SET utf8mb4;
    DECLARE text TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT replace(replace(replace(upper(id_text), 'I', '1'), 'L', '1'), 'O', '0');
    DECLARE digit, place INT DEFAULT 1;
    DECLARE id BIGINT DEFAULT 0;
    IF id_text IS NULL THEN
        RETURN NULL;
    ELSEIF char_length(text) <> 13 THEN
        SET words = concat('an id as text has 13 characters, not ', char_length(text));
        SIGNAL SQLSTATE '22P02' SET MESSAGE_TEXT = words;
    ELSEIF length(id_text) <> char_length(id_text) THEN
        SET words = left(concat('not an id as text: ', id_text), 128);
        SIGNAL SQLSTATE '22P02' SET MESSAGE_TEXT = words;
    END IF;
    WHILE place <= 13 DO
        SET digit = locate(substr(text, place, 1), '0123456789ABCDEFGHJKMNPQRSTVWXYZ' COLLATE utf8mb4_bin) - 1;
        IF digit < 0 THEN
            SET words = left(concat('not an id as text: ', id_text), 128);
            SIGNAL SQLSTATE '22P02' SET MESSAGE_TEXT = words;
        ELSEIF place = 1 AND digit > 7 THEN
            -- 13 characters hold 65 bits: the first may only use its low three.
            SET words = left(concat('larger than the largest id: ', id_text), 128);
            SIGNAL SQLSTATE '22P02' SET MESSAGE_TEXT = words;
        END IF;
        SET id = id * 32 + digit, place = place + 1;
    END WHILE;
    RETURN id;
END;

-- What a function returns is text in MariaDB's JSON, and so is a variable; a sum is a number.
DROP FUNCTION IF EXISTS shardid.id_parts_in;
CREATE FUNCTION shardid.id_parts_in(id BIGINT, layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS JSON DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'Time, shard and slot of an id, in a layout'
BEGIN
    DECLARE its_shard, its_slot BIGINT;
    IF shardid.check_id(id, layout) IS NULL THEN
        RETURN NULL;
    END IF;
    SET its_shard = shardid.id_shard_in(id, layout), its_slot = shardid.id_slot_in(id, layout);
    RETURN json_object('time', date_format(shardid.id_time_in(id, layout), '%Y-%m-%dT%H:%i:%s.%fZ'), 'shard', its_shard + 0, 'slot', its_slot + 0);
END;

-- The time comes as text: of a zone in it, MySQL would make the session's zone, and
-- MariaDB nothing.
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
        SET words = concat(at, ' is past the end of layout ', layout, ': hint: SELECT name, ends_at FROM shardid.layouts');
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    RETURN since * per_tick;
END;

DROP FUNCTION IF EXISTS shardid.id_at;
CREATE FUNCTION shardid.id_at(at VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The lowest id of an instant in UTC: WHERE id >= shardid.id_at(utc_timestamp() - INTERVAL 1 DAY)'
    RETURN shardid.id_at_in(at, 'instagram');
