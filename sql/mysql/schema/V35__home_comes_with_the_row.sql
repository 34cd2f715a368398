-- What is made here is of here: whoever makes it says so. Triggers said it of every row that came, also of
-- one that was restored into a schema that was there before, or that a replica was sent
-- (slave_run_triggers_for_rbr), and so a counter that another server had moved on looked like
-- this one's. Without them a row keeps the home that comes with it, in whatever order schema and data
-- are restored, and one without any is nobody's until it is adopted.

DROP PROCEDURE IF EXISTS shardid.make_ticket;
CREATE PROCEDURE shardid.make_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, server INT, servers INT, above BIGINT,
    may_exist BOOL)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'What create_ticket and create_ticket_above do'
BEGIN
    DECLARE words TEXT;
    DECLARE largest BIGINT UNSIGNED DEFAULT if(ticket = 'Tickets32', 4294967295, 9223372036854775807);
    DECLARE as_wanted BOOL DEFAULT TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL shardid.check_class(server, servers);
    IF coalesce(ticket, '') = '' THEN
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'a ticket has a name of 1 to 64 characters';
    ELSEIF NOT coalesce(above BETWEEN 0 AND largest, FALSE) THEN
        SET words = left(concat('ticket ', ticket, ' cannot begin above ', coalesce(above, 'NULL'),
            ': its largest number is ', largest), 128);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    START TRANSACTION;
    -- Not INSERT IGNORE, which would let other mistakes pass as well.
    BEGIN
        DECLARE EXIT HANDLER FOR 1062
            SELECT may_exist AND t.server = server AND t.servers = servers AND t.`floor` = above
            INTO as_wanted FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
        INSERT INTO shardid.ticket (name, server, servers, last_ticket, `floor`, max_ticket, home)
        VALUES (ticket, server, servers, above, above, largest, shardid.here());
        CALL shardid.raise_table(ticket, above);
    END;
    IF NOT as_wanted THEN
        SET words = left(concat('ticket ', ticket, ' exists already: hint: SELECT * FROM shardid.tickets'), 128);
        SIGNAL SQLSTATE '42710' SET MESSAGE_TEXT = words;
    END IF;
    COMMIT;
END;

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
    INSERT INTO shardid.shard (shard, layout, created_at, epoch_us, tick_us, ticks, shards, slots, home)
    SELECT shard, l.name, utc_timestamp(6), l.epoch_us, l.tick_us, l.ticks, l.shards, l.slots, shardid.here()
    FROM shardid.layout l WHERE l.name = layout;
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
    INSERT INTO shardid.segment (biz_tag, max_id, step, delta, remainder, update_time, home)
    VALUES (tag, start - 1, step, delta, remainder, utc_timestamp(6), shardid.here());
END;

DROP TRIGGER IF EXISTS shardid.ticket_is_of_here;
DROP TRIGGER IF EXISTS shardid.shard_is_of_here;
DROP TRIGGER IF EXISTS shardid.segment_is_of_here;
