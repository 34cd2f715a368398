-- As in V8__create_flickr_tables.sql, but refused before anything is made where there is no such database.

DROP PROCEDURE IF EXISTS shardid.create_flickr_tables;
CREATE PROCEDURE shardid.create_flickr_tables(
    in_database VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, server INT, servers INT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Makes Tickets64 and Tickets32 in a database, for this one of so many servers'
BEGIN
    DECLARE words TEXT;
    CALL shardid.check_class(server, servers);
    IF NOT EXISTS (SELECT 1 FROM information_schema.schemata d WHERE d.schema_name = in_database) THEN
        SET words = left(concat('database ', coalesce(in_database, 'NULL'), ' does not exist: hint: CREATE DATABASE ', coalesce(in_database, 'flickr')), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM shardid.ticket t WHERE t.name = 'Tickets64' AND t.server = server AND t.servers = servers) THEN
        CALL shardid.create_ticket('Tickets64', server, servers);
    END IF;
    IF NOT EXISTS (SELECT 1 FROM shardid.ticket t WHERE t.name = 'Tickets32' AND t.server = server AND t.servers = servers) THEN
        CALL shardid.create_ticket('Tickets32', server, servers);
    END IF;
    CALL shardid.create_flickr_view(in_database, 'Tickets64');
    CALL shardid.create_flickr_view(in_database, 'Tickets32');
END;
