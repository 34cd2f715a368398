-- A server with lower_case_table_names = 1 takes Flickr for flickr, and says flickr itself.

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
