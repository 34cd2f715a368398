-- The counters of ids are of one server, too, and not its shards alone: on a replica that was promoted, and that nobody had
-- had adopt anything, a shard that was dropped and made again gave ids that the old server had given.

DROP PROCEDURE IF EXISTS shardid.add_home;
CREATE PROCEDURE shardid.add_home()
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Adds the column; where it is there, it stays'
BEGIN
    DECLARE CONTINUE HANDLER FOR 1060 BEGIN END;
    ALTER TABLE shardid.server ADD COLUMN home VARCHAR(64) COMMENT 'the server whose ids the counters are of';
END;
CALL shardid.add_home();
DROP PROCEDURE IF EXISTS shardid.add_home;

-- Where a shard is of another server still, so are they.
UPDATE shardid.server v
SET v.home = coalesce((SELECT max(coalesce(s.home, '')) FROM shardid.shard s WHERE NOT s.home <=> shardid.here()), shardid.here())
WHERE v.id = 1 AND v.home IS NULL;

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
    CALL shardid.refuse_read_only();
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
    IF NOT (SELECT v.home <=> shardid.here() FROM shardid.server v) THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'the counters of ids are of the server that this one was made from: hint: CALL shardid.adopt()';
    END IF;
    INSERT INTO shardid.shard (shard, layout, created_at, epoch_us, tick_us, ticks, shards, slots, home)
    SELECT shard, l.name, utc_timestamp(6), l.epoch_us, l.tick_us, l.ticks, l.shards, l.slots, shardid.here()
    FROM shardid.layout l WHERE l.name = layout;
END;

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
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    -- One that was prepared has no session that could be seen or killed.
    DECLARE EXIT HANDLER FOR 1205 BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'a transaction with numbers does not end: hint: SHOW PROCESSLIST; XA RECOVER, XA COMMIT or XA ROLLBACK, then again';
    END;
    CALL shardid.refuse_read_only();
    IF NOT coalesce(how_many BETWEEN 0 AND 1000000000000, FALSE) THEN
        SET words = concat('cannot leave out ', coalesce(how_many, 'NULL'), ' numbers: hint: 0 to 1000000000000');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    ELSEIF timestampdiff(MICROSECOND, sysdate(6), now(6)) > 1000000 OR timestampdiff(MICROSECOND, now(6), sysdate(6)) > 1000000 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'nothing is adopted where timestamp is set: hint: SET timestamp = DEFAULT';
    ELSEIF @@sql_safe_updates THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'nothing is adopted where sql_safe_updates is set: hint: SET sql_safe_updates = 0';
    END IF;
    IF EXISTS (SELECT 1 FROM shardid.shard s WHERE NOT s.home <=> here)
        OR EXISTS (SELECT 1 FROM shardid.server v WHERE NOT v.home <=> here)
    THEN
        START TRANSACTION;
        INSERT INTO shardid.counter (id, session) VALUES (ahead, me);
        DELETE FROM shardid.counter WHERE id = ahead AND session = me;
        INSERT INTO shardid.counter_128 (id, session) VALUES (ahead DIV 128 + 1, me);
        DELETE FROM shardid.counter_128 WHERE id = ahead DIV 128 + 1 AND session = me;
        COMMIT AND NO CHAIN NO RELEASE;
        -- Then nobody is refused because ids are more than 10 s ahead of the clock.
        DO sleep(1.1);
        UPDATE shardid.shard s SET s.home = here WHERE NOT s.home <=> here;
        UPDATE shardid.server v SET v.home = here WHERE v.id = 1;
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
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT 'ticket' AS what, t.name, t.last_ticket AS goes_on_above, t.home <=> here AS adopted FROM shardid.ticket t
    UNION ALL SELECT 'segment tag', s.biz_tag, s.max_id, s.home <=> here FROM shardid.segment s
    UNION ALL SELECT 'shards', count(*), NULL, coalesce(min(s.home <=> here), TRUE) FROM shardid.shard s
    ORDER BY 1, 2;
END;
