-- Segments: blocks of consecutive numbers that a client uses up in memory. A
-- segment goes from first to last, both inclusive; with a delta, it is the numbers
-- of these that leave the remainder when divided by it.

CREATE TABLE IF NOT EXISTS shardid.segment (
    biz_tag     VARCHAR(64)  NOT NULL,
    max_id      BIGINT       NOT NULL COMMENT 'the last number of the last segment',
    step        BIGINT       NOT NULL COMMENT 'how many whole numbers a segment spans',
    delta       INT          NOT NULL DEFAULT 1,
    remainder   INT          NOT NULL DEFAULT 0,
    description VARCHAR(256),
    update_time DATETIME(6)  NOT NULL COMMENT 'when the last segment was taken, in UTC',
    PRIMARY KEY (biz_tag),
    CONSTRAINT segment_step CHECK (step BETWEEN delta AND 1000000000),
    CONSTRAINT segment_class CHECK (delta >= 1 AND remainder BETWEEN 0 AND delta - 1)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: tags that hand out segments';

CREATE OR REPLACE SQL SECURITY DEFINER VIEW shardid.segments AS
SELECT s.biz_tag, s.max_id, s.step, s.description, s.update_time, s.delta, s.remainder FROM shardid.segment s;

DROP PROCEDURE IF EXISTS shardid.check_span;
CREATE PROCEDURE shardid.check_span(
    tag VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, span BIGINT, least_span BIGINT)
    NO SQL SQL SECURITY DEFINER
    COMMENT 'Refuses a segment that is too short or too long'
BEGIN
    DECLARE words TEXT;
    IF NOT coalesce(span BETWEEN least_span AND 1000000000, FALSE) THEN
        SET words = left(concat('a segment of ', tag, ' cannot span ', coalesce(span, 'NULL'), ' numbers: hint: ', least_span, ' to 1000000000'), 128);
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    END IF;
END;

DROP PROCEDURE IF EXISTS shardid.refuse_segment;
CREATE PROCEDURE shardid.refuse_segment(tag VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    NO SQL SQL SECURITY DEFINER
    COMMENT 'Fails, because there is no such tag'
BEGIN
    DECLARE words TEXT DEFAULT left(concat('segment tag ', coalesce(tag, 'NULL'), ' does not exist: hint: CALL shardid.create_segment(''',
        coalesce(tag, 'NULL'), ''', 1000)'), 128);
    SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
END;

DROP PROCEDURE IF EXISTS shardid.create_segment_of;
CREATE PROCEDURE shardid.create_segment_of(
    tag VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, step BIGINT, start BIGINT, delta INT, remainder INT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Makes a tag whose segments begin at start and use the numbers that leave the remainder'
BEGIN
    DECLARE words TEXT;
    DECLARE EXIT HANDLER FOR 1062 BEGIN
        SET words = left(concat('segment tag ', tag, ' exists already: hint: SELECT * FROM shardid.segments'), 128);
        SIGNAL SQLSTATE '42710' SET MESSAGE_TEXT = words;
    END;
    IF NOT coalesce(tag <> '' AND start >= 0 AND delta >= 1 AND remainder BETWEEN 0 AND delta - 1, FALSE) THEN
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT =
            'a segment has a tag, a start of 0 or above, a delta of 1 or above, and a remainder of 0 to delta - 1';
    END IF;
    CALL shardid.check_span(tag, step, delta);
    INSERT INTO shardid.segment (biz_tag, max_id, step, delta, remainder, update_time)
    VALUES (tag, start - 1, step, delta, remainder, utc_timestamp(6));
END;

DROP PROCEDURE IF EXISTS shardid.create_segment;
CREATE PROCEDURE shardid.create_segment(tag VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, step BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Makes a tag that hands out segments of so many numbers, from 1 on'
    CALL shardid.create_segment_of(tag, step, 1, 1, 0);

DROP PROCEDURE IF EXISTS shardid.alter_segment;
CREATE PROCEDURE shardid.alter_segment(tag VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, new_step BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Has the next segments of a tag span so many numbers'
BEGIN
    DECLARE least_span BIGINT;
    SELECT s.delta INTO least_span FROM shardid.segment s WHERE s.biz_tag = tag;
    IF least_span IS NULL THEN
        CALL shardid.refuse_segment(tag);
    END IF;
    CALL shardid.check_span(tag, new_step, least_span);
    UPDATE shardid.segment s SET s.step = new_step WHERE s.biz_tag = tag;
END;

DROP PROCEDURE IF EXISTS shardid.drop_segment;
CREATE PROCEDURE shardid.drop_segment(tag VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Forgets a tag: made again, it begins anew and repeats its numbers'
BEGIN
    DELETE FROM shardid.segment WHERE biz_tag = tag;
    IF row_count() = 0 THEN
        CALL shardid.refuse_segment(tag);
    END IF;
END;
