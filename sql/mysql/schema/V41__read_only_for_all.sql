-- As before, but nothing is handed out, made or taken over on a server that is read-only, whoever asks: procedures
-- run with the rights of their definer, who may write there. So clients of a server that was being switched
-- over were given numbers that its successor gave as well, and a hook could adopt what a
-- replica still follows another one for. Functions look, too: a procedure of somebody's own has its definer's rights.
--
-- drop_ticket takes away what is left of all blocks of its ticket: one that was made again within a tenth of
-- a second handed the rest of them out, twice or of another server's class. It ends its caller's transaction for that,
-- as the other procedures for tickets do.
--
-- adopt and lower_counters say what to do where sql_safe_updates is set.
--
-- Whatever completion_type a session has: with CHAIN, raise_ticket failed (1568), and with RELEASE it lost its connection.

-- The program makes it before it runs any of these files (session/keep_grants.sql).
CREATE TABLE IF NOT EXISTS shardid.kept_grant (
    user         VARCHAR(128) NOT NULL,
    host         VARCHAR(255) NOT NULL,
    routine_type VARCHAR(9)   NOT NULL,
    routine      VARCHAR(64)  NOT NULL,
    privileges   VARCHAR(64)  NOT NULL,
    PRIMARY KEY (user, host, routine_type, routine)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: grants on routines that are being made anew';

DROP PROCEDURE IF EXISTS shardid.refuse_read_only;
CREATE PROCEDURE shardid.refuse_read_only()
    READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'Fails on a server that is read-only, as the engine does'
BEGIN
    IF concat('', @@GLOBAL.read_only) NOT IN ('0', 'OFF') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT =
            'the server is read-only: hint: ask the one that takes writes; if it is this one, SET GLOBAL read_only = 0';
    END IF;
END;

DROP PROCEDURE IF EXISTS shardid.hold_ticket;
CREATE PROCEDURE shardid.hold_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, OUT last BIGINT UNSIGNED, OUT largest BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Locks a ticket of which nobody has a block any more, in a transaction that it begins'
hold_ticket: LOOP
    BEGIN
        DECLARE its_place, free_place, wait_for INT;
        DECLARE done BOOL DEFAULT FALSE;
        DECLARE blocks CURSOR FOR SELECT b.place FROM shardid.ticket_block b WHERE b.ticket = ticket AND b.numbers > 0;
        COMMIT AND NO CHAIN NO RELEASE;
        SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
        START TRANSACTION;
        SET last = NULL, largest = NULL;
        SELECT t.last_ticket, t.max_ticket INTO last, largest FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
        -- Whoever has a block took it before, and nobody takes another one while the ticket is held. The
        -- first look that takes no lock is this one, so it sees them all.
        BEGIN
            DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
            OPEN blocks;
            leave_out: LOOP
                FETCH blocks INTO its_place;
                IF done THEN
                    LEAVE leave_out;
                END IF;
                SELECT max(b.place) INTO free_place FROM shardid.ticket_block b WHERE b.place = its_place FOR UPDATE SKIP LOCKED;
                IF free_place IS NULL THEN
                    SET wait_for = its_place;
                    LEAVE leave_out;
                END IF;
                UPDATE shardid.ticket_block b SET b.numbers = 0 WHERE b.place = its_place AND b.ticket = ticket;
            END LOOP;
            CLOSE blocks;
        END;
        IF wait_for IS NULL THEN
            LEAVE hold_ticket;
        END IF;
        -- Its session may want the ticket next: it is waited for without holding that.
        ROLLBACK AND NO CHAIN NO RELEASE;
        START TRANSACTION;
        UPDATE shardid.ticket_block b SET b.numbers = 0 WHERE b.place = wait_for AND b.ticket = ticket;
        COMMIT AND NO CHAIN NO RELEASE;
    END;
END LOOP;

DROP PROCEDURE IF EXISTS shardid.raise_ticket;
CREATE PROCEDURE shardid.raise_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, above BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Goes on above a number, on this server; never goes back'
BEGIN
    DECLARE words TEXT;
    DECLARE last, largest BIGINT UNSIGNED;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    CALL shardid.refuse_read_only();
    CALL shardid.hold_ticket(ticket, last, largest);
    IF last IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: shardid tickets status; with no cluster CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT coalesce(above <= largest, FALSE) THEN
        SET words = left(concat('ticket ', ticket, ' cannot go on above ', coalesce(above, 'NULL'), ': its largest number is ', largest), 128);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    UPDATE shardid.ticket t SET t.last_ticket = greatest(t.last_ticket, above), t.home = shardid.here() WHERE t.name = ticket;
    CALL shardid.raise_table(ticket, greatest(last, above));
    COMMIT AND NO CHAIN NO RELEASE;
END;

DROP PROCEDURE IF EXISTS shardid.drop_ticket;
CREATE PROCEDURE shardid.drop_ticket(ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Forgets a ticket: made again, it begins anew and repeats its numbers'
BEGIN
    DECLARE words TEXT;
    DECLARE last, largest BIGINT UNSIGNED;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    CALL shardid.refuse_read_only();
    CALL shardid.hold_ticket(ticket, last, largest);
    IF last IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: SELECT * FROM shardid.tickets'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    END IF;
    DELETE FROM t USING shardid.ticket t WHERE t.name = ticket;
    COMMIT AND NO CHAIN NO RELEASE;
END;

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
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    CALL shardid.refuse_read_only();
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
    COMMIT AND NO CHAIN NO RELEASE;
END;

DROP PROCEDURE IF EXISTS shardid.limit_ticket;
CREATE PROCEDURE shardid.limit_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, new_ceiling BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Hands out no number at or above the ceiling from now on; NULL lifts it'
BEGIN
    DECLARE words TEXT;
    DECLARE last BIGINT UNSIGNED;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    CALL shardid.refuse_read_only();
    SET @shardid_ticket = NULL;
    START TRANSACTION;
    SELECT t.last_ticket INTO last FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
    IF last IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF last >= new_ceiling THEN
        SET words = left(concat('last_ticket of ', ticket, ' is ', last, ', not below the ceiling ', new_ceiling), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    END IF;
    UPDATE shardid.ticket t SET t.ceiling = new_ceiling WHERE t.name = ticket;
    COMMIT AND NO CHAIN NO RELEASE;
END;

DROP PROCEDURE IF EXISTS shardid.restep_ticket;
CREATE PROCEDURE shardid.restep_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, new_server INT, new_servers INT, above BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Goes on with the numbers of another class, all above one, and lifts the ceiling'
change_ticket: BEGIN
    DECLARE words TEXT;
    DECLARE last, largest BIGINT UNSIGNED;
    DECLARE same BOOL;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    CALL shardid.refuse_read_only();
    CALL shardid.check_class(new_server, new_servers);
    SET @shardid_ticket = NULL;
    START TRANSACTION;
    SELECT t.last_ticket, t.max_ticket, t.server = new_server AND t.servers = new_servers AND t.`floor` <=> above
    INTO last, largest, same FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
    IF last IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF same THEN
        -- A ceiling that is here was set after the change, and stays.
        COMMIT AND NO CHAIN NO RELEASE;
        LEAVE change_ticket;
    ELSEIF NOT coalesce(above <= largest, FALSE) THEN
        SET words = left(concat('ticket ', ticket, ' cannot go on above ', coalesce(above, 'NULL'), ': its largest number is ', largest), 128);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    ELSEIF last > above THEN
        SET words = left(concat('last_ticket of ', ticket, ' is ', last, ', above the new floor ', above), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    END IF;
    UPDATE shardid.ticket t
    SET t.server = new_server, t.servers = new_servers, t.last_ticket = above, t.`floor` = above, t.ceiling = NULL
    WHERE t.name = ticket;
    CALL shardid.raise_table(ticket, above);
    COMMIT AND NO CHAIN NO RELEASE;
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
    INSERT INTO shardid.shard (shard, layout, created_at, epoch_us, tick_us, ticks, shards, slots, home)
    SELECT shard, l.name, utc_timestamp(6), l.epoch_us, l.tick_us, l.ticks, l.shards, l.slots, shardid.here()
    FROM shardid.layout l WHERE l.name = layout;
END;

DROP PROCEDURE IF EXISTS shardid.drop_shard;
CREATE PROCEDURE shardid.drop_shard(shard BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Forgets a shard; made again, it goes on above its ids'
BEGIN
    DECLARE words TEXT;
    CALL shardid.refuse_read_only();
    DELETE FROM s USING shardid.shard s WHERE s.shard = shard;
    IF row_count() = 0 THEN
        SET words = concat('shard ', coalesce(shard, 'NULL'), ' does not exist: hint: SELECT * FROM shardid.shards');
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    END IF;
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
    CALL shardid.refuse_read_only();
    IF NOT coalesce(tag <> '' AND start >= 0 AND delta >= 1 AND remainder BETWEEN 0 AND delta - 1, FALSE) THEN
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT =
            'a segment has a tag, a start of 0 or above, a delta of 1 or above, and a remainder of 0 to delta - 1';
    END IF;
    CALL shardid.check_span(tag, step, delta);
    INSERT INTO shardid.segment (biz_tag, max_id, step, delta, remainder, update_time, home)
    VALUES (tag, start - 1, step, delta, remainder, utc_timestamp(6), shardid.here());
END;

DROP PROCEDURE IF EXISTS shardid.alter_segment;
CREATE PROCEDURE shardid.alter_segment(tag VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, new_step BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Has the next segments of a tag span so many numbers'
BEGIN
    DECLARE least_span BIGINT;
    CALL shardid.refuse_read_only();
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
    CALL shardid.refuse_read_only();
    DELETE FROM shardid.segment WHERE biz_tag = tag;
    IF row_count() = 0 THEN
        CALL shardid.refuse_segment(tag);
    END IF;
END;

DROP PROCEDURE IF EXISTS shardid.next_segment;
CREATE PROCEDURE shardid.next_segment(tag VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, wanted BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'The next segment, as a row of first, last and delta; NULL takes the tag''s own step'
BEGIN
    DECLARE words TEXT;
    DECLARE span, end_of_it, its_delta, its_remainder BIGINT;
    DECLARE is_here BOOL;
    CALL shardid.refuse_read_only();
    SELECT s.delta, s.remainder, coalesce(wanted, s.step), s.home <=> shardid.here() INTO its_delta, its_remainder, span, is_here
    FROM shardid.segment s WHERE s.biz_tag = tag FOR UPDATE;
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
    -- As in next_tickets.
    CALL shardid.refuse_read_only();
    SELECT end_of_it - span + 1 + (its_remainder + its_delta - (end_of_it - span + 1) % its_delta) % its_delta AS first,
           end_of_it - (end_of_it % its_delta + its_delta - its_remainder) % its_delta AS last,
           its_delta AS delta;
END;

DROP PROCEDURE IF EXISTS shardid.next_tickets;
CREATE PROCEDURE shardid.next_tickets(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, how_many BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'So many numbers, as a row of first, last and delta'
BEGIN
    DECLARE taken VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE first_of_it, its_delta BIGINT UNSIGNED;
    CALL shardid.refuse_read_only();
    SET taken = shardid.first_and_delta(ticket, how_many);
    -- It may have become read-only meanwhile, and then another one may hand out the same.
    CALL shardid.refuse_read_only();
    SET first_of_it = substring_index(taken, ' ', 1), its_delta = substring_index(taken, ' ', -1);
    SELECT first_of_it AS first, first_of_it + (how_many - 1) * its_delta AS last, its_delta AS delta;
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
    CALL shardid.refuse_read_only();
    IF NOT coalesce(how_many BETWEEN 0 AND 1000000000000, FALSE) THEN
        SET words = concat('cannot leave out ', coalesce(how_many, 'NULL'), ' numbers: hint: 0 to 1000000000000');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    ELSEIF timestampdiff(MICROSECOND, sysdate(6), now(6)) > 1000000 OR timestampdiff(MICROSECOND, now(6), sysdate(6)) > 1000000 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'nothing is adopted where timestamp is set: hint: SET timestamp = DEFAULT';
    ELSEIF @@sql_safe_updates THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'nothing is adopted where sql_safe_updates is set: hint: SET sql_safe_updates = 0';
    END IF;
    IF EXISTS (SELECT 1 FROM shardid.shard s WHERE NOT s.home <=> here) THEN
        START TRANSACTION;
        INSERT INTO shardid.counter (id, session) VALUES (ahead, me);
        DELETE FROM shardid.counter WHERE id = ahead AND session = me;
        INSERT INTO shardid.counter_128 (id, session) VALUES (ahead DIV 128 + 1, me);
        DELETE FROM shardid.counter_128 WHERE id = ahead DIV 128 + 1 AND session = me;
        COMMIT AND NO CHAIN NO RELEASE;
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
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT 'ticket' AS what, t.name, t.last_ticket AS goes_on_above, t.home <=> here AS adopted FROM shardid.ticket t
    UNION ALL SELECT 'segment tag', s.biz_tag, s.max_id, s.home <=> here FROM shardid.segment s
    UNION ALL SELECT 'shards', count(*), NULL, coalesce(min(s.home <=> here), TRUE) FROM shardid.shard s
    ORDER BY 1, 2;
END;

DROP PROCEDURE IF EXISTS shardid.lower_counters;
CREATE PROCEDURE shardid.lower_counters()
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Lets ids go on at the clock, unless some of later stand in a table; shows the tables that it looked at'
BEGIN
    DECLARE done BOOL DEFAULT FALSE;
    DECLARE words TEXT;
    DECLARE its_table, its_column, its_number, its_statement TEXT CHARACTER SET utf8mb4;
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE its_shard, drawn, drawn_128, stood, stood_128 BIGINT;
    -- Ids may be 10 s ahead of the clock.
    DECLARE above BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000;
    -- Further than any wait.
    DECLARE fence BIGINT DEFAULT above + 400 * 86400 * 1000000;
    DECLARE looked_at LONGTEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE filled CURSOR FOR
        SELECT concat('`', replace(t.event_object_schema, '`', '``'), '`.`', replace(t.event_object_table, '`', '``'), '`'),
               t.action_statement
        FROM information_schema.triggers t
        WHERE t.action_statement LIKE '%next\_id%' AND t.event_object_schema <> 'shardid'
        ORDER BY t.event_object_schema, t.event_object_table;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        BEGIN
            -- What is not set back is for the next call.
            DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN END;
            ROLLBACK AND NO CHAIN NO RELEASE;
            -- Not where another session is at it.
            IF coalesce(stood, stood_128) IS NOT NULL THEN
                -- Above all that those have been given who drew just before the fence.
                SET above = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000;
                CALL shardid.set_counters(greatest(stood, above), greatest(stood_128, above DIV 128 + 1));
                DELETE FROM shardid.lowering;
                COMMIT AND NO CHAIN NO RELEASE;
            END IF;
        END;
        DO release_lock('shardid.lower_counters');
        RESIGNAL;
    END;
    CALL shardid.refuse_read_only();
    -- Whose triggers are seen is decided by the rights of the definer, 'user'@'host'.
    IF (SELECT count(DISTINCT p.privilege_type) FROM information_schema.user_privileges p
        WHERE p.privilege_type IN ('SELECT', 'TRIGGER')
          AND p.grantee = concat('\'', left(current_user(), char_length(current_user()) - char_length(substring_index(current_user(), '@', -1)) - 1),
                                 '\'@\'', substring_index(current_user(), '@', -1), '\'')) < 2
    THEN
        SET words = left(concat('no counter is lowered by who may not see all tables: hint: GRANT SELECT, TRIGGER ON *.* TO ', current_user()), 128);
        SIGNAL SQLSTATE '42501' SET MESSAGE_TEXT = words;
    ELSEIF @@insert_id <> 0 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered where insert_id is set: hint: SET insert_id = 0';
    ELSEIF @@sql_safe_updates THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered where sql_safe_updates is set: hint: SET sql_safe_updates = 0';
    ELSEIF timestampdiff(MICROSECOND, sysdate(6), now(6)) > 1000000 OR timestampdiff(MICROSECOND, now(6), sysdate(6)) > 1000000 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered where timestamp is set: hint: SET timestamp = DEFAULT';
    ELSEIF timestampdiff(SECOND, convert_tz(utc_timestamp() - INTERVAL 2 HOUR, '+00:00', @@SESSION.time_zone),
                                 convert_tz(utc_timestamp() + INTERVAL 2 HOUR, '+00:00', @@SESSION.time_zone)) <> 14400 THEN
        -- Then that look says nothing: an hour comes twice.
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered in the hours in which summer time ends: hint: SET time_zone = ''+00:00''';
    ELSEIF NOT (coalesce(is_used_lock('shardid.lower_counters') = me, FALSE) OR get_lock('shardid.lower_counters', 0)) THEN
        SET words = concat('the counters are being lowered by another session: hint: wait, or KILL ', coalesce(is_used_lock('shardid.lower_counters'), 'it'));
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    END IF;

    -- What is looked at are the tables of everybody, as they are now, and not what a session has in their place.
    BEGIN
        -- Where that is not to be known, it is not asked for.
        DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET @shardid_found = NULL;
        SET @shardid_found = NULL;
        SET @shardid_look = if(version() LIKE '%MariaDB%',
            'SELECT max(variable_value > 0 OR @@system_versioning_asof <> ''DEFAULT'') INTO @shardid_found FROM information_schema.session_status WHERE variable_name = ''COM_CREATE_TEMPORARY_TABLE''',
            'SELECT sum(count_star) > 0 INTO @shardid_found FROM performance_schema.events_statements_summary_by_thread_by_event_name WHERE event_name = ''statement/sql/create_table'' AND thread_id = ps_current_thread_id()');
        PREPARE look_for FROM @shardid_look;
        EXECUTE look_for;
        DEALLOCATE PREPARE look_for;
    END;
    IF @shardid_found THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered in a session that has made tables or looks at an earlier time: hint: connect anew';
    END IF;

    START TRANSACTION;
    INSERT INTO shardid.counter (session) VALUES (me);
    SET drawn = last_insert_id();
    DELETE FROM shardid.counter WHERE id = drawn AND session = me;
    INSERT INTO shardid.counter_128 (session) VALUES (me);
    SET drawn_128 = last_insert_id();
    DELETE FROM shardid.counter_128 WHERE id = drawn_128 AND session = me;
    IF drawn > above - 1000000 THEN
        INSERT INTO shardid.counter (id, session) VALUES (greatest(drawn, fence), me);
        DELETE FROM shardid.counter WHERE id = greatest(drawn, fence) AND session = me;
        -- Whoever drew between these two has a number that is not later than this, by the clock of now: the
        -- next statements may see another.
        SET stood = greatest(drawn, timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11200000);
        SET stood = coalesce((SELECT l.stood FROM shardid.lowering l WHERE l.counter = 'counter' AND drawn >= l.raised_to), stood);
        REPLACE INTO shardid.lowering VALUES ('counter', stood, greatest(drawn, fence));
    END IF;
    IF drawn_128 > (above - 1000000) DIV 128 THEN
        INSERT INTO shardid.counter_128 (id, session) VALUES (greatest(drawn_128, fence DIV 128), me);
        DELETE FROM shardid.counter_128 WHERE id = greatest(drawn_128, fence DIV 128) AND session = me;
        SET stood_128 = greatest(drawn_128, (timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11200000) DIV 128 + 1);
        SET stood_128 = coalesce((SELECT l.stood FROM shardid.lowering l WHERE l.counter = 'counter_128' AND drawn_128 >= l.raised_to), stood_128);
        REPLACE INTO shardid.lowering VALUES ('counter_128', stood_128, greatest(drawn_128, fence DIV 128));
    END IF;
    COMMIT AND NO CHAIN NO RELEASE;
    -- Sets nothing, but waits for those who drew before the fence.
    BEGIN
        DECLARE EXIT HANDLER FOR 1205
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'a transaction that has taken ids does not end: hint: SHOW PROCESSLIST, XA RECOVER, then CALL shardid.lower_counters() again';
        CALL shardid.set_counters(greatest(drawn, if(stood IS NULL, NULL, fence)) + 1, greatest(drawn_128, if(stood_128 IS NULL, NULL, fence DIV 128)) + 1);
    END;

    OPEN filled;
    look: LOOP
        FETCH filled INTO its_table, its_statement;
        IF done OR coalesce(stood, stood_128) IS NULL THEN
            LEAVE look;
        END IF;
        -- As id_trigger writes it, and nothing else: of any other it is not known where its ids go. The text is
        -- whoever's that made the trigger, and nothing but a quoted name becomes SQL.
        SET its_column = substring_index(substring_index(its_statement, 'SET NEW.', -1), ' = ', 1),
            its_number = substring_index(substring_index(its_statement, 'shardid.next_id(', -1), ')', 1);
        IF its_number NOT REGEXP '^[0-9]{1,9}$' OR its_column NOT REGEXP '^`([^`]|``)+`$'
            OR CAST(its_statement AS BINARY) <> CAST(concat('SET NEW.', its_column, ' = if(coalesce(NEW.', its_column, ', 0) = 0, shardid.next_id(',
                its_number, '), NEW.', its_column, ')') AS BINARY)
        THEN
            SET words = left(concat('table ', its_table, ' has a trigger that is not as id_trigger writes it: hint: make it anew'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        SET its_shard = its_number;
        -- The time goes on, and so do ids of the other counter; where it goes back, these do not.
        SET above = greatest(above, timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000);
        SET @shardid_found = NULL;
        -- A row that is not committed is waited for: its transaction may have had its id before.
        SET @shardid_look = (SELECT concat('SELECT max(', its_column, ') INTO @shardid_found FROM ', its_table, ' WHERE ', its_column, ' >= ',
                (above - s.epoch_us) DIV s.tick_us * s.shards * s.slots, ' LOCK IN SHARE MODE') FROM shardid.shard s WHERE s.shard = its_shard);
        IF @shardid_look IS NULL THEN
            SET words = left(concat('table ', its_table, ' has a trigger for shard ', its_shard, ', which is not here: hint: drop the trigger'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        BEGIN
            DECLARE EXIT HANDLER FOR 1205 BEGIN
                SET words = left(concat('table ', its_table, ' has rows of a transaction that does not end: hint: SHOW PROCESSLIST, XA RECOVER, then again'), 128);
                SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
            END;
            PREPARE look_for FROM @shardid_look;
            EXECUTE look_for;
            DEALLOCATE PREPARE look_for;
        END;
        IF @shardid_found IS NOT NULL THEN
            SET words = left(concat('id ', @shardid_found, ' of table ', its_table, ' is later than now: its row has to go first, or ids have to wait'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        SET done = FALSE, looked_at = concat(looked_at, if(looked_at = '', '', ', '), its_table);
    END LOOP;
    CLOSE filled;

    SET above = greatest(above, timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000);
    CALL shardid.set_counters(if(stood IS NULL, NULL, above), if(stood_128 IS NULL, NULL, above DIV 128 + 1));
    DELETE FROM shardid.lowering;
    COMMIT AND NO CHAIN NO RELEASE;
    DO release_lock('shardid.lower_counters');
    SET @shardid_look = NULL, @shardid_found = NULL;
    SELECT looked_at;
END;

DROP PROCEDURE IF EXISTS shardid.create_flickr_tables;
CREATE PROCEDURE shardid.create_flickr_tables(
    in_database VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, server INT, servers INT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Makes Tickets64 and Tickets32 in a database, for this one of so many servers'
BEGIN
    DECLARE words TEXT CHARACTER SET utf8mb4;
    DECLARE other VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    CALL shardid.refuse_read_only();
    CALL shardid.check_class(server, servers);
    IF NOT EXISTS (SELECT 1 FROM information_schema.schemata d WHERE d.schema_name = in_database) THEN
        SET words = left(concat('database ', coalesce(in_database, 'NULL'), ' does not exist: hint: CREATE DATABASE ', coalesce(in_database, 'flickr')), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    END IF;
    SELECT min(t.name) INTO other FROM shardid.ticket t
    WHERE t.name IN ('Tickets64', 'Tickets32') AND NOT (t.server = server AND t.servers = servers);
    IF other IS NOT NULL THEN
        SET words = concat('ticket ', other, ' exists already: hint: SELECT * FROM shardid.tickets');
        SIGNAL SQLSTATE '42710' SET MESSAGE_TEXT = words;
    END IF;
    -- Nobody else's view is replaced. Ours reads as both engines write it.
    SELECT min(t.table_name) INTO other
    FROM information_schema.tables t
    LEFT JOIN information_schema.views v ON v.table_schema = t.table_schema AND v.table_name = t.table_name
    WHERE t.table_schema = in_database AND lower(t.table_name) IN ('tickets64', 'tickets32')
      AND NOT coalesce(lower(replace(v.view_definition, '`', '')) = lower(replace('select shardid.X.id AS id,shardid.X.stub AS stub from shardid.X', 'X', t.table_name)), FALSE);
    IF other IS NOT NULL THEN
        SET words = left(concat('table ', in_database, '.', other, ' exists already: hint: RENAME TABLE `', in_database, '`.`', other, '` TO `', in_database, '`.`', other, '_before`'), 128);
        SIGNAL SQLSTATE '42710' SET MESSAGE_TEXT = words;
    END IF;
    -- Where a view may not be made, there are no tickets either.
    CALL shardid.create_flickr_view(in_database, 'Tickets64');
    CALL shardid.create_flickr_view(in_database, 'Tickets32');
    IF NOT EXISTS (SELECT 1 FROM shardid.ticket t WHERE t.name = 'Tickets64') THEN
        CALL shardid.create_ticket('Tickets64', server, servers);
    END IF;
    IF NOT EXISTS (SELECT 1 FROM shardid.ticket t WHERE t.name = 'Tickets32') THEN
        CALL shardid.create_ticket('Tickets32', server, servers);
    END IF;
END;

DROP FUNCTION IF EXISTS shardid.next_id;
CREATE FUNCTION shardid.next_id(shard BIGINT)
    RETURNS BIGINT NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'A new id of a shard'
BEGIN
    DECLARE clock BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6));
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE of_layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE its_state VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE words TEXT;
    DECLARE new_id, epoch, tick, ticks, shards, slots, drawn, at, ahead, since, present BIGINT;
    DECLARE wall DATETIME(6);
    DECLARE draws, looks INT DEFAULT 0;
    DECLARE raised BOOL DEFAULT FALSE;
    DECLARE is_here BOOL;
    IF concat('', @@GLOBAL.read_only) NOT IN ('0', 'OFF') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT =
            'the server is read-only: hint: ask the one that takes writes; if it is this one, SET GLOBAL read_only = 0';
    ELSEIF @@insert_id <> 0 THEN
        -- It would take the place of what the counter gives.
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no ids where insert_id is set: hint: SET insert_id = 0';
    ELSEIF @@auto_increment_increment > 100 THEN
        -- Each id would use up as many numbers: soon all ids would be ahead of the clock.
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no ids where auto_increment_increment is above 100: hint: SET auto_increment_increment = 1';
    ELSEIF timestampdiff(MICROSECOND, sysdate(6), now(6)) > 1000000 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no ids where timestamp is set ahead of the clock: hint: SET timestamp = DEFAULT';
    END IF;

    draw: LOOP
        INSERT INTO shardid.counter (session) VALUES (me);
        SET drawn = last_insert_id();
        DELETE FROM shardid.counter WHERE id = drawn AND session = me;
        IF row_count() = 0 THEN
            -- `SET insert_id = 0` gives 0 once, and last_insert_id a number of before.
            DELETE FROM shardid.counter WHERE id = 0 AND session = me;
            SET draws = draws + 1;
        ELSEIF drawn < clock - 10000 AND NOT raised THEN
            INSERT INTO shardid.counter (id, session) VALUES (clock + 10000, me);
            DELETE FROM shardid.counter WHERE id = clock + 10000 AND session = me;
            SET raised = TRUE;
        ELSE
            LEAVE draw;
        END IF;
        IF draws > 2 THEN
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'could not draw from the counter of ids: hint: connect anew';
        END IF;
    END LOOP;
    SET new_id = (SELECT ((drawn - s.epoch_us) DIV s.tick_us * s.shards + s.shard) * s.slots
                     + (drawn - s.epoch_us) % s.tick_us * s.slots DIV s.tick_us
              FROM shardid.shard s
              WHERE s.shard = shard AND s.state = 'open' AND s.home = concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */)
                AND s.slots >= s.tick_us
                AND drawn BETWEEN s.epoch_us AND clock + 10000000
                AND (drawn - s.epoch_us) DIV s.tick_us < s.ticks);
    IF new_id IS NOT NULL THEN
        RETURN new_id;
    END IF;

    -- There is something about the shard, or the layout has few slots, or ids are ahead of the clock.
    SELECT s.layout, s.state, s.epoch_us, s.tick_us, s.ticks, s.shards, s.slots, s.home <=> concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */)
    INTO of_layout, its_state, epoch, tick, ticks, shards, slots, is_here
    FROM shardid.shard s WHERE s.shard = shard;
    IF its_state IS NULL THEN
        SET words = concat('shard ', coalesce(shard, 'NULL'), ' does not exist: hint: CALL shardid.create_shard(', coalesce(shard, 'NULL'), ', ''instagram'')');
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT is_here THEN
        SET words = concat('shard ', shard, ' is of the server that this one was made from: hint: CALL shardid.adopt()');
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF its_state = 'moved' THEN
        SET words = concat('shard ', shard, ' has moved to another server: hint: shardid map');
        SIGNAL SQLSTATE 'SI001' SET MESSAGE_TEXT = words;
    ELSEIF its_state = 'fenced' THEN
        SET words = concat('shard ', shard, ' is being moved: hint: try again in a second');
        SIGNAL SQLSTATE 'SI002' SET MESSAGE_TEXT = words;
    ELSEIF slots >= tick THEN
        SET at = drawn;
    ELSEIF slots * 128 >= tick THEN
        SET raised = FALSE;
        draw: LOOP
            INSERT INTO shardid.counter_128 (session) VALUES (me);
            SET drawn = last_insert_id();
            DELETE FROM shardid.counter_128 WHERE id = drawn AND session = me;
            IF row_count() = 0 THEN
                DELETE FROM shardid.counter_128 WHERE id = 0 AND session = me;
                SET draws = draws + 1;
            ELSEIF drawn < (clock - 10000) DIV 128 AND NOT raised THEN
                INSERT INTO shardid.counter_128 (id, session) VALUES ((clock + 10000) DIV 128, me);
                DELETE FROM shardid.counter_128 WHERE id = (clock + 10000) DIV 128 AND session = me;
                SET raised = TRUE;
            ELSE
                LEAVE draw;
            END IF;
            IF draws > 2 THEN
                SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'could not draw from the counter of ids: hint: connect anew';
            END IF;
        END LOOP;
        SET at = drawn * 128;
    ELSE
        SET words = left(concat('layout ', of_layout, ' has too few slots: hint: one in 128 microseconds is the least'), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    END IF;

    -- Too far ahead of the clock as it is now. This number is ours already, so it may wait.
    ahead: WHILE at > clock + 10000000 DO
        SET wall = sysdate(6);
        SET present = clock + timestampdiff(MICROSECOND, now(6), wall);
        IF NOT convert_tz(timestampadd(MICROSECOND, present, '1970-01-01'), '+00:00', @@SESSION.time_zone) <=> wall THEN
            -- The zone had another offset when the statement began, or at the time that `timestamp` is set to.
            SET present = coalesce(timestampdiff(MICROSECOND, '1970-01-01', convert_tz(wall, @@SESSION.time_zone, '+00:00')), 0);
        END IF;
        SET ahead = at - present;
        IF ahead <= 10000000 THEN
            LEAVE ahead;
        ELSEIF looks = 50 THEN
            SET words = left(concat('shard ', shard, ' is ', ahead DIV 1000000, ' s ahead of the clock, 10 s is the most: hint: set it right, then CALL shardid.lower_counters(), or wait'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        DO sleep(0.02);
        SET looks = looks + 1;
    END WHILE;

    SET since = at - epoch;
    IF since < 0 THEN
        SET words = left(concat('the clock is before the first instant of layout ', of_layout, ': hint: set the clock right'), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF since DIV tick >= ticks THEN
        SET words = concat('layout ', of_layout, ' has no ids left: its time is over: hint: SELECT name, ends_at FROM shardid.layouts');
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    RETURN (since DIV tick * shards + shard) * slots + since % tick * slots DIV tick;
END;

DROP FUNCTION IF EXISTS shardid.take_tickets;
CREATE FUNCTION shardid.take_tickets(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, how_many BIGINT, without_gaps BOOL)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'What next_ticket, next_tickets and next_ticket_gapless do'
BEGIN
    DECLARE words TEXT;
    IF concat('', @@GLOBAL.read_only) NOT IN ('0', 'OFF') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT =
            'the server is read-only: hint: ask the one that takes writes; if it is this one, SET GLOBAL read_only = 0';
    END IF;
    UPDATE shardid.ticket t
    SET t.last_ticket = last_insert_id(t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers)
                        + (how_many - 1) * t.servers,
        t.gapless = without_gaps
    WHERE how_many BETWEEN 1 AND 1000000 AND t.name = ticket AND t.home = concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */) AND t.name NOT IN ('Tickets32', 'Tickets64')
      AND (t.gapless = without_gaps OR without_gaps AND t.last_ticket = t.`floor`)
      AND t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers
          + (how_many - 1) * t.servers <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket));
    IF row_count() = 1 THEN
        RETURN last_insert_id();
    ELSEIF NOT coalesce(how_many BETWEEN 1 AND 1000000, FALSE) THEN
        SET words = concat('cannot hand out ', coalesce(how_many, 'NULL'), ' numbers at once: hint: 1 to 1000000');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    ELSEIF without_gaps IS NULL THEN
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'tickets are handed out with gaps or without: hint: 0 or 1';
    END IF;
    RETURN shardid.refuse_ticket(ticket, without_gaps);
END;

DROP FUNCTION IF EXISTS shardid.next_ticket;
CREATE FUNCTION shardid.next_ticket(ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The next number of a ticket'
BEGIN
    DECLARE now_us BIGINT DEFAULT coalesce(timestampdiff(MICROSECOND, '1970-01-01', convert_tz(sysdate(6), @@SESSION.time_zone, '+00:00')), 0);
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE here VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */);
    DECLARE its_place, its_turn, numbers_left, its_step INT;
    DECLARE number BIGINT UNSIGNED;
    DECLARE how_many INT DEFAULT 1;
    DECLARE is_mine BOOL;
    IF concat('', @@GLOBAL.read_only) NOT IN ('0', 'OFF') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT =
            'the server is read-only: hint: ask the one that takes writes; if it is this one, SET GLOBAL read_only = 0';
    END IF;
    -- The place before the ticket: all do it in this order, so nobody waits in a circle.
    SELECT b.place, b.turn, b.next_number, b.numbers,
           b.session = me AND b.home = here AND b.ticket = ticket AND now_us BETWEEN b.taken_us AND b.taken_us + 100000
    INTO its_place, its_turn, number, numbers_left, is_mine
    FROM shardid.ticket_block b WHERE b.place = me % 4096 FOR UPDATE SKIP LOCKED;
    IF its_place IS NULL THEN
        RETURN shardid.take_tickets(ticket, 1, FALSE);
    ELSEIF is_mine AND numbers_left > 0 THEN
        UPDATE shardid.ticket_block b
        SET b.next_number = b.next_number + b.step, b.numbers = b.numbers - 1, b.taken_us = now_us
        WHERE b.place = its_place;
        RETURN number;
    END IF;
    SET its_turn = if(is_mine, its_turn + 1, 1), number = NULL;
    IF its_turn > 8 THEN
        SET how_many = 1 << least(its_turn - 8, 5);
        BEGIN
            -- Not so many are left: then one.
            DECLARE CONTINUE HANDLER FOR SQLSTATE '22003', SQLSTATE '55000' SET number = NULL;
            SET number = shardid.take_tickets(ticket, how_many, FALSE);
        END;
    END IF;
    IF number IS NULL THEN
        SET how_many = 1, number = shardid.take_tickets(ticket, 1, FALSE);
    END IF;
    SELECT t.servers INTO its_step FROM shardid.ticket t WHERE t.name = ticket;
    UPDATE shardid.ticket_block b
    SET b.session = me, b.ticket = ticket, b.turn = its_turn, b.next_number = number + its_step,
        b.numbers = how_many - 1, b.step = its_step, b.home = here, b.taken_us = now_us
    WHERE b.place = its_place;
    RETURN number;
END;
