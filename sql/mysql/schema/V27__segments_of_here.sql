-- As in V16__next_segment.sql, but of this server only: see V19__home.sql.

DROP PROCEDURE IF EXISTS shardid.next_segment;
CREATE PROCEDURE shardid.next_segment(tag VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, wanted BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'The next segment, as a row of first, last and delta; NULL takes the tag''s own step'
BEGIN
    DECLARE words TEXT;
    DECLARE span, end_of_it, its_delta, its_remainder BIGINT;
    DECLARE is_here BOOL;
    SELECT s.delta, s.remainder, coalesce(wanted, s.step), s.home <=> shardid.here() INTO its_delta, its_remainder, span, is_here
    FROM shardid.segment s WHERE s.biz_tag = tag;
    IF its_delta IS NULL THEN
        CALL shardid.refuse_segment(tag);
    ELSEIF NOT is_here THEN
        CALL shardid.refuse_elsewhere('segment tag', tag);
    END IF;
    CALL shardid.check_span(tag, span, its_delta);
    UPDATE shardid.segment s SET s.max_id = last_insert_id(s.max_id + span), s.update_time = utc_timestamp(6)
    WHERE s.biz_tag = tag AND s.max_id <= 9223372036854775807 - span;
    IF row_count() = 0 THEN
        SET words = left(concat('segment tag ', tag, ' has no ', span, ' numbers left'), 128);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    SET end_of_it = last_insert_id();
    SELECT end_of_it - span + 1 + (its_remainder + its_delta - (end_of_it - span + 1) % its_delta) % its_delta AS first,
           end_of_it - (end_of_it % its_delta + its_delta - its_remainder) % its_delta AS last,
           its_delta AS delta;
END;
