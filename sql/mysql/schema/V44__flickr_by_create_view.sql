-- As in V43__databases_in_lower_case.sql, but who has installed it needs CREATE VIEW on the database and nothing else: a
-- view that is his already stays, where it was replaced, which wants DROP as well. And where he may not see the
-- database, nobody is told to make it.

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
    IF @@lower_case_table_names = 1 THEN
        SET in_database = lower(in_database);
    END IF;
    IF NOT EXISTS (SELECT 1 FROM information_schema.schemata d WHERE d.schema_name = in_database) THEN
        -- This runs as who has installed it, who may not see what is there.
        IF EXISTS (SELECT 1 FROM information_schema.user_privileges p
                   WHERE p.grantee = concat('''', left(current_user(), char_length(current_user()) - char_length(substring_index(current_user(), '@', -1)) - 1), '''@''', substring_index(current_user(), '@', -1), '''')
                     AND p.privilege_type IN ('SHOW DATABASES', 'SELECT'))
        THEN
            SET words = left(concat('database ', coalesce(in_database, 'NULL'), ' does not exist: hint: CREATE DATABASE ', coalesce(in_database, 'flickr')), 128);
        ELSE
            SET words = left(concat('database ', coalesce(in_database, 'NULL'), ' is not there for ', current_user(),
                ': hint: CREATE DATABASE, GRANT CREATE VIEW ON ', coalesce(in_database, 'flickr'), '.* TO that user'), 128);
        END IF;
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
    SET @shardid_view = concat(if(its_definer IS NULL, 'CREATE', 'CREATE OR REPLACE'), ' SQL SECURITY DEFINER VIEW `', replace(in_database, '`', '``'), '`.`', ticket,
        '` AS SELECT id, stub FROM shardid.`', ticket, '`');
    PREPARE create_view FROM @shardid_view;
    EXECUTE create_view;
    DEALLOCATE PREPARE create_view;
    SET @shardid_view = NULL;
END;
