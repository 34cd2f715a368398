-- As in V33__fence_counters.sql, but a call that was killed is remembered. It left the counters 400 days ahead,
-- and where the next call was refused, because there is an id of later than now, it took that for
-- where they had stood: no ids for 400 days. And no call begins where insert_id is set, which took the
-- place of what the counter gives, and left a lock behind.

CREATE TABLE IF NOT EXISTS shardid.lowering (
    counter   VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
    stood     BIGINT NOT NULL COMMENT 'where the counter stood before',
    raised_to BIGINT NOT NULL COMMENT 'and where it is while it is being lowered'
) ENGINE = InnoDB COMMENT 'shardid: counters that a call of lower_counters has raised, and not lowered yet';

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
        WHERE t.action_statement LIKE '%shardid.next\_id(%' AND t.event_object_schema <> 'shardid'
        ORDER BY t.event_object_schema, t.event_object_table;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        -- Where they stood: nobody has been given an id meanwhile.
        BEGIN
            -- What is not set back is for the next call.
            DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN END;
            ROLLBACK;
            -- Not where another session is at it.
            IF coalesce(stood, stood_128) IS NOT NULL THEN
                CALL shardid.set_counters(stood, stood_128);
                DELETE FROM shardid.lowering;
                COMMIT;
            END IF;
        END;
        DO release_lock('shardid.lower_counters');
        RESIGNAL;
    END;
    IF @@insert_id <> 0 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered where insert_id is set: hint: SET insert_id = 0';
    ELSEIF timestampdiff(MICROSECOND, sysdate(6), now(6)) > 1000000 OR timestampdiff(MICROSECOND, now(6), sysdate(6)) > 1000000 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered where timestamp is set: hint: SET timestamp = DEFAULT';
    ELSEIF timestampdiff(SECOND, convert_tz(utc_timestamp() - INTERVAL 2 HOUR, '+00:00', @@SESSION.time_zone),
                                 convert_tz(utc_timestamp() + INTERVAL 2 HOUR, '+00:00', @@SESSION.time_zone)) <> 14400 THEN
        -- Then that look says nothing: an hour comes twice.
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered in the hours in which summer time ends: hint: SET time_zone = ''+00:00''';
    ELSEIF NOT (coalesce(is_used_lock('shardid.lower_counters') = me, FALSE) OR get_lock('shardid.lower_counters', 0)) THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'the counters are being lowered by another session: hint: SHOW PROCESSLIST';
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
        SET stood = coalesce((SELECT l.stood FROM shardid.lowering l WHERE l.counter = 'counter' AND drawn >= l.raised_to), drawn);
        REPLACE INTO shardid.lowering VALUES ('counter', stood, greatest(drawn, fence));
    END IF;
    IF drawn_128 > (above - 1000000) DIV 128 THEN
        INSERT INTO shardid.counter_128 (id, session) VALUES (greatest(drawn_128, fence DIV 128), me);
        DELETE FROM shardid.counter_128 WHERE id = greatest(drawn_128, fence DIV 128) AND session = me;
        SET stood_128 = coalesce((SELECT l.stood FROM shardid.lowering l WHERE l.counter = 'counter_128' AND drawn_128 >= l.raised_to), drawn_128);
        REPLACE INTO shardid.lowering VALUES ('counter_128', stood_128, greatest(drawn_128, fence DIV 128));
    END IF;
    COMMIT;
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
        -- As id_trigger writes it: SET NEW.`id` = if(…, shardid.next_id(5), NEW.`id`)
        SET its_column = substring_index(substring_index(its_statement, 'SET NEW.', -1), ' = ', 1),
            its_number = substring_index(substring_index(its_statement, 'shardid.next_id(', -1), ')', 1);
        -- The text is whoever's that made the trigger: nothing but a quoted name becomes SQL.
        IF its_number NOT REGEXP '^[0-9]{1,9}$' THEN
            SET words = left(concat('table ', its_table, ' has a trigger that is not as id_trigger writes it: hint: make it anew'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        SET its_shard = its_number;
        IF its_column NOT REGEXP '^`([^`]|``)+`$' THEN
            SET words = left(concat('table ', its_table, ' has a trigger that is not as id_trigger writes it: hint: make it anew'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        -- The time goes on, and so do ids of the other counter.
        SET above = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000;
        SET @shardid_found = NULL;
        -- A row that is not committed is waited for: its transaction may have had its id before.
        SET @shardid_look = (SELECT concat('SELECT max(', its_column, ') INTO @shardid_found FROM ', its_table, ' WHERE ', its_column, ' >= ',
                (above - s.epoch_us) DIV s.tick_us * s.shards * s.slots + s.shards * s.slots, ' LOCK IN SHARE MODE') FROM shardid.shard s WHERE s.shard = its_shard);
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

    SET above = timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000;
    CALL shardid.set_counters(if(stood IS NULL, NULL, above), if(stood_128 IS NULL, NULL, above DIV 128 + 1));
    DELETE FROM shardid.lowering;
    COMMIT;
    DO release_lock('shardid.lower_counters');
    SET @shardid_look = NULL, @shardid_found = NULL;
    SELECT looked_at;
END;
