-- id_at refused times in sessions of MariaDB with default_regex_flags, and Flickr's tables that are made in a database
-- from here on take rows on MySQL with derived_merge off, too.

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
    -- What the engine would make something of, it makes by the session's time zone, or of a part. Flags are
    -- those of the pattern alone: a session may have others in default_regex_flags.
    ELSEIF at NOT REGEXP '(?-mx)^[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2}([ T][0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}([.][0-9]*)?)?([-+][0-9][0-9]:[0-9][0-9]|[Zz])?)?$'
        AND at NOT REGEXP '(?-mx)^[0-9]{8}([0-9]{6}([.][0-9]*)?)?$'
    THEN
        SET words = left(concat('not a time: ', at, ': hint: 2026-06-01 14:00:00.123+02:00'), 128);
        SIGNAL SQLSTATE '22007' SET MESSAGE_TEXT = words;
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

DROP PROCEDURE IF EXISTS shardid.create_flickr_view;
CREATE PROCEDURE shardid.create_flickr_view(
    in_database VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Makes one of the views'
make_view: BEGIN
    DECLARE its_definer VARCHAR(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    -- What is there was looked at before, and is one of ours.
    SELECT max(v.definer) INTO its_definer FROM information_schema.views v
    WHERE v.table_schema = in_database AND lower(v.table_name) = lower(ticket);
    IF its_definer = current_user() THEN
        LEAVE make_view;
    END IF;
    -- The names are quoted as identifiers: nothing of them becomes SQL.
    SET @shardid_view = concat(if(its_definer IS NULL, 'CREATE', 'CREATE OR REPLACE'), ' ALGORITHM = MERGE SQL SECURITY DEFINER VIEW `', replace(in_database, '`', '``'), '`.`', ticket,
        '` AS SELECT id, stub FROM shardid.`', ticket, '`');
    PREPARE create_view FROM @shardid_view;
    EXECUTE create_view;
    DEALLOCATE PREPARE create_view;
    SET @shardid_view = NULL;
END;
