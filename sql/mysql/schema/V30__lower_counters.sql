-- Where the counters of ids stand far ahead of the clock, because the clock was wrong for a while,
-- all ids are refused until the clock is there. This lowers the counters to where no id can have
-- been handed out, if no id of the time that is taken back stands in a column that one of our
-- triggers fills. Ids that were handed out then and stand nowhere else are what it cannot know.

DROP PROCEDURE IF EXISTS shardid.lower_counters;
CREATE PROCEDURE shardid.lower_counters()
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Lets ids go on at the clock, unless some of later stand in a table; shows the tables that it looked at'
BEGIN
    DECLARE done BOOL DEFAULT FALSE;
    DECLARE words TEXT;
    DECLARE its_table, its_column, its_statement TEXT CHARACTER SET utf8mb4;
    DECLARE its_shard BIGINT;
    -- Ids may be 10 s ahead of the clock.
    DECLARE above BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000;
    DECLARE looked_at LONGTEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE filled CURSOR FOR
        SELECT concat('`', replace(t.event_object_schema, '`', '``'), '`.`', replace(t.event_object_table, '`', '``'), '`'),
               t.action_statement
        FROM information_schema.triggers t
        WHERE t.action_statement LIKE '%shardid.next\_id(%' AND t.event_object_schema <> 'shardid'
        ORDER BY t.event_object_schema, t.event_object_table;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
    IF timestampdiff(MICROSECOND, sysdate(6), now(6)) > 1000000 OR timestampdiff(MICROSECOND, now(6), sysdate(6)) > 1000000 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'no counter is lowered where timestamp is set: hint: SET timestamp = DEFAULT';
    END IF;
    OPEN filled;
    look: LOOP
        FETCH filled INTO its_table, its_statement;
        IF done THEN
            LEAVE look;
        END IF;
        -- As id_trigger writes it: SET NEW.`id` = if(…, shardid.next_id(5), NEW.`id`)
        SET its_column = substring_index(substring_index(its_statement, 'SET NEW.', -1), ' = ', 1),
            its_shard = substring_index(substring_index(its_statement, 'shardid.next_id(', -1), ')', 1);
        -- The text is whoever's that made the trigger: nothing but a quoted name becomes SQL.
        IF its_column NOT REGEXP '^`([^`]|``)+`$' THEN
            SET words = left(concat('table ', its_table, ' has a trigger that is not as id_trigger writes it: hint: make it anew'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        SET @shardid_found = NULL;
        SET @shardid_look = (SELECT concat('SELECT max(', its_column, ') INTO @shardid_found FROM ', its_table, ' WHERE ', its_column, ' >= ',
                (above - s.epoch_us) DIV s.tick_us * s.shards * s.slots + s.shards * s.slots) FROM shardid.shard s WHERE s.shard = its_shard);
        IF @shardid_look IS NULL THEN
            SET words = left(concat('table ', its_table, ' has a trigger for shard ', its_shard, ', which is not here: hint: drop the trigger'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        PREPARE look_for FROM @shardid_look;
        EXECUTE look_for;
        DEALLOCATE PREPARE look_for;
        IF @shardid_found IS NOT NULL THEN
            SET words = left(concat('id ', @shardid_found, ' of table ', its_table, ' is later than now: its row has to go first, or ids have to wait'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        SET done = FALSE, looked_at = concat(looked_at, if(looked_at = '', '', ', '), its_table);
    END LOOP;
    CLOSE filled;
    SET @shardid_look = concat('ALTER TABLE shardid.counter AUTO_INCREMENT = ', above);
    PREPARE lower_it FROM @shardid_look;
    EXECUTE lower_it;
    SET @shardid_look = concat('ALTER TABLE shardid.counter_128 AUTO_INCREMENT = ', above DIV 128 + 1);
    PREPARE lower_it FROM @shardid_look;
    EXECUTE lower_it;
    DEALLOCATE PREPARE lower_it;
    SET @shardid_look = NULL, @shardid_found = NULL;
    SELECT looked_at;
END;
