-- A server that took over from another, or was restored or copied, begins to hand out numbers: call
-- it where nobody hands out those of before any more, from the hook of a failover for instance. On a
-- server whose own they are it changes nothing.
--
-- What the old server handed out and this one was never told of is left out. Of ids that is known:
-- they were 10 s ahead of a clock at most, and the two clocks are a second apart at most. Of
-- tickets and segments it is a number that somebody chooses. A ticket without gaps is adopted by
-- raise_ticket alone, by somebody who knows its last number.

DROP PROCEDURE IF EXISTS shardid.adopt_leaving_out;
CREATE PROCEDURE shardid.adopt_leaving_out(how_many BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Hands out here what another server did, leaving out so many numbers of each ticket'
BEGIN
    DECLARE here VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT shardid.here();
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE ahead BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000;
    DECLARE words TEXT;
    DECLARE last_64, last_32 BIGINT UNSIGNED;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    IF NOT coalesce(how_many BETWEEN 0 AND 1000000000000, FALSE) THEN
        SET words = concat('cannot leave out ', coalesce(how_many, 'NULL'), ' numbers: hint: 0 to 1000000000000');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    END IF;
    IF EXISTS (SELECT 1 FROM shardid.shard s WHERE NOT s.home <=> here) THEN
        START TRANSACTION;
        INSERT INTO shardid.counter (id, session) VALUES (ahead, me);
        DELETE FROM shardid.counter WHERE id = ahead AND session = me;
        INSERT INTO shardid.counter_128 (id, session) VALUES (ahead DIV 128 + 1, me);
        DELETE FROM shardid.counter_128 WHERE id = ahead DIV 128 + 1 AND session = me;
        COMMIT;
        -- Then nobody is refused because ids are more than 10 s ahead of the clock.
        DO sleep(1.1);
        UPDATE shardid.shard s SET s.home = here WHERE NOT s.home <=> here;
    END IF;
    START TRANSACTION;
    UPDATE shardid.ticket_block b SET b.numbers = 0 WHERE b.numbers > 0;
    SELECT max(CASE t.name WHEN 'Tickets64' THEN t.last_ticket END), max(CASE t.name WHEN 'Tickets32' THEN t.last_ticket END)
    INTO last_64, last_32 FROM shardid.ticket t WHERE NOT t.home <=> here;
    UPDATE shardid.ticket t
    SET t.last_ticket = t.last_ticket + how_many * t.servers, t.home = here
    WHERE NOT t.home <=> here AND NOT t.gapless
      AND t.last_ticket + how_many * t.servers <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket));
    IF last_64 IS NOT NULL THEN
        CALL shardid.raise_table('Tickets64', (SELECT t.last_ticket FROM shardid.ticket t WHERE t.name = 'Tickets64'));
    END IF;
    IF last_32 IS NOT NULL THEN
        CALL shardid.raise_table('Tickets32', (SELECT t.last_ticket FROM shardid.ticket t WHERE t.name = 'Tickets32'));
    END IF;
    -- A hundred segments for a million numbers, where that is more.
    UPDATE shardid.segment s
    SET s.max_id = s.max_id + greatest(how_many, how_many DIV 10000 * s.step), s.home = here
    WHERE NOT s.home <=> here AND s.max_id <= 9223372036854775807 - greatest(how_many, how_many DIV 10000 * s.step);
    COMMIT;
    SELECT 'ticket' AS what, t.name, t.last_ticket AS goes_on_above, t.home <=> here AS adopted FROM shardid.ticket t
    UNION ALL SELECT 'segment tag', s.biz_tag, s.max_id, s.home <=> here FROM shardid.segment s
    UNION ALL SELECT 'shards', count(*), NULL, coalesce(min(s.home <=> here), TRUE) FROM shardid.shard s
    ORDER BY 1, 2;
END;

DROP PROCEDURE IF EXISTS shardid.adopt;
CREATE PROCEDURE shardid.adopt()
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Hands out here what another server did, a million numbers later'
    CALL shardid.adopt_leaving_out(1000000);
