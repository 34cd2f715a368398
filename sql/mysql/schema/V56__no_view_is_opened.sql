-- lower_counters asked information_schema.columns whether the column of a trigger is there. MariaDB opens what it is asked
-- for, and a view that somebody had put into the place of the table while it waited for the one before ran a function of his with
-- the rights of the definer: as it opens a view it works out what is constant in it, such as a path of extractvalue().
--
-- Nothing is asked of what may be a view any more. The name comes from the trigger, where it is one name in quotes, and the one
-- statement that uses it fails on a view before that is read: MariaDB and MySQL refuse an index hint there first.

DROP PROCEDURE IF EXISTS shardid.lower_counters;
CREATE PROCEDURE shardid.lower_counters()
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Lets ids go on at the clock, unless some of later stand in a table; shows the tables that it looked at'
BEGIN
    DECLARE done BOOL DEFAULT FALSE;
    DECLARE words TEXT;
    DECLARE its_database, its_name, its_column VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE its_table, its_named, quoted, its_number TEXT CHARACTER SET utf8mb4;
    DECLARE its_statement LONGTEXT CHARACTER SET utf8mb4;
    DECLARE place, digit INT;
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE its_shard, drawn, drawn_128, stood, stood_128 BIGINT;
    -- Ids may be 10 s ahead of the clock.
    DECLARE above BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000;
    -- Further than any wait.
    DECLARE fence BIGINT DEFAULT above + 400 * 86400 * 1000000;
    DECLARE looked_at LONGTEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE filled CURSOR FOR
        SELECT t.event_object_schema, t.event_object_table, t.action_statement
        FROM information_schema.triggers t
        WHERE CONVERT(t.action_statement USING utf8mb4) COLLATE utf8mb4_general_ci LIKE '%next\_id%' AND t.event_object_schema <> 'shardid'
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

    -- Whoever has rights on all databases may have had them taken back for some of them.
    IF FALSE /*!80016 OR @@GLOBAL.partial_revokes */ THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET @shardid_found = NULL;
            SET @shardid_found = NULL;
            -- Triggers are not made in the database mysql.
            SET @shardid_look = 'SELECT if(count(*) = 0, NULL, coalesce(max(r.its_database), '''')) INTO @shardid_found
                FROM mysql.user u LEFT JOIN JSON_TABLE(u.user_attributes, ''$.Restrictions[*]''
                    COLUMNS (its_database VARCHAR(64) PATH ''$.Database'', privileges JSON PATH ''$.Privileges'')) r
                  ON r.its_database <> ''mysql''
                    AND (JSON_CONTAINS(r.privileges, ''"SELECT"'') OR JSON_CONTAINS(r.privileges, ''"TRIGGER"''))
                WHERE concat(u.user, ''@'', u.host) = current_user()';
            PREPARE look_for FROM @shardid_look;
            EXECUTE look_for;
            DEALLOCATE PREPARE look_for;
        END;
        IF @shardid_found IS NULL THEN
            SET words = left(concat('no counter is lowered by who may not see his partial revokes: hint: GRANT SELECT ON mysql.user TO ', current_user()), 128);
            SIGNAL SQLSTATE '42501' SET MESSAGE_TEXT = words;
        ELSEIF @shardid_found <> '' THEN
            SET words = left(concat('no counter is lowered by who may not see all tables: hint: GRANT SELECT, TRIGGER ON `', replace(@shardid_found, '`', '``'), '`.* TO ', current_user()), 128);
            SIGNAL SQLSTATE '42501' SET MESSAGE_TEXT = words;
        END IF;
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
        FETCH filled INTO its_database, its_name, its_statement;
        IF done OR coalesce(stood, stood_128) IS NULL THEN
            LEAVE look;
        END IF;
        SET its_table = concat('`', replace(its_database, '`', '``'), '`.`', replace(its_name, '`', '``'), '`');
        -- As id_trigger writes it, and nothing else: of any other it is not known where its ids go. The text is
        -- whoever's that made the trigger, so none of it becomes SQL: it is compared, byte by byte, with what
        -- id_trigger makes of a number and of a name in quotes. (A regular expression is what default_regex_flags of
        -- the session makes of it; and whether there is such a column is not asked for, since MariaDB opens what it is
        -- asked for, and by then that may be a view.)
        SET its_named = substring_index(substring_index(its_statement, 'SET NEW.', -1), ' = ', 1),
            its_number = substring_index(substring_index(its_statement, 'shardid.next_id(', -1), ')', 1),
            its_shard = if(length(its_number) BETWEEN 1 AND 9, 0, NULL), place = 1, its_column = NULL;
        WHILE its_shard IS NOT NULL AND place <= length(its_number) DO
            SET digit = ascii(substr(CAST(its_number AS BINARY), place, 1)),
                its_shard = if(digit BETWEEN 48 AND 57, its_shard * 10 + digit - 48, NULL), place = place + 1;
        END WHILE;
        IF CAST(its_statement AS BINARY) = CAST(concat('SET NEW.', its_named, ' = if(coalesce(NEW.', its_named, ', 0) = 0, shardid.next_id(',
                its_shard, '), NEW.', its_named, ')') AS BINARY)
            AND CAST(left(its_named, 1) AS BINARY) = '`' AND CAST(right(its_named, 1) AS BINARY) = '`' AND char_length(its_named) BETWEEN 3 AND 130
        THEN
            -- One name in quotes: between the first and the last there are pairs of them alone.
            SET its_named = substr(its_named, 2, char_length(its_named) - 2);
            IF locate(CAST('`' AS BINARY), CAST(replace(its_named, '``', '') AS BINARY)) = 0 AND char_length(replace(its_named, '``', '`')) <= 64 THEN
                SET its_column = replace(its_named, '``', '`');
            END IF;
        END IF;
        IF its_column IS NULL THEN
            SET words = left(concat('table ', its_table, ' has a trigger that is not as id_trigger writes it: hint: make it anew'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        -- The time goes on, and so do ids of the other counter; where it goes back, these do not.
        SET above = greatest(above, timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000);
        SET @shardid_found = NULL;
        -- A row that is not committed is waited for: its transaction may have had its id before. By then a view may
        -- stand in the place of the next table, and what it calls would run with the rights of the definer:
        -- no view takes an index hint. This one changes nothing, since nothing is grouped.
        SET quoted = concat('`', replace(its_column, '`', '``'), '`');
        SET @shardid_look = (SELECT concat('SELECT max(', quoted, ') INTO @shardid_found FROM ', its_table, ' USE INDEX FOR GROUP BY () WHERE ', quoted, ' >= ',
                (above - s.epoch_us) DIV s.tick_us * s.shards * s.slots, ' LOCK IN SHARE MODE') FROM shardid.shard s WHERE s.shard = its_shard);
        IF @shardid_look IS NULL THEN
            SET words = left(concat('table ', its_table, ' has a trigger for shard ', its_shard, ', which is not here: hint: CALL shardid.create_shard(', its_shard, ', its layout), then again'), 128);
            SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
        END IF;
        BEGIN
            DECLARE EXIT HANDLER FOR 1205 BEGIN
                SET words = left(concat('table ', its_table, ' has rows of a transaction that does not end: hint: SHOW PROCESSLIST, XA RECOVER, then again'), 128);
                SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
            END;
            -- A table of that name that was made since.
            DECLARE EXIT HANDLER FOR 1054 BEGIN
                SET words = left(concat('table ', its_table, ' has no column ', quoted, ', which its trigger fills: hint: CALL shardid.lower_counters() again'), 128);
                SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
            END;
            DECLARE EXIT HANDLER FOR 1176 BEGIN
                SET words = left(concat('table ', its_table, ' has become a view: hint: CALL shardid.lower_counters() again'), 128);
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
