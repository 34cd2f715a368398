-- Flickr's tables under their own names in a database of your choice. They are
-- views: a trigger cannot be made by a procedure, and the one pair of tables
-- that has triggers is in our schema.

DROP PROCEDURE IF EXISTS shardid.create_flickr_tables;
CREATE PROCEDURE shardid.create_flickr_tables(
    in_database VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, server INT, servers INT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Makes Tickets64 and Tickets32 in a database, for this one of so many servers'
BEGIN
    CALL shardid.check_class(server, servers);
    IF NOT EXISTS (SELECT 1 FROM shardid.ticket t WHERE t.name = 'Tickets64' AND t.server = server AND t.servers = servers) THEN
        CALL shardid.create_ticket('Tickets64', server, servers);
    END IF;
    IF NOT EXISTS (SELECT 1 FROM shardid.ticket t WHERE t.name = 'Tickets32' AND t.server = server AND t.servers = servers) THEN
        CALL shardid.create_ticket('Tickets32', server, servers);
    END IF;
    CALL shardid.create_flickr_view(in_database, 'Tickets64');
    CALL shardid.create_flickr_view(in_database, 'Tickets32');
END;

DROP PROCEDURE IF EXISTS shardid.create_flickr_view;
CREATE PROCEDURE shardid.create_flickr_view(
    in_database VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    MODIFIES SQL DATA SQL SECURITY INVOKER
    COMMENT 'Makes one of the views'
BEGIN
    -- The names are quoted as identifiers: nothing of them becomes SQL.
    SET @shardid_view = concat('CREATE OR REPLACE SQL SECURITY DEFINER VIEW `', replace(in_database, '`', '``'), '`.`', ticket,
        '` AS SELECT id, stub FROM shardid.`', ticket, '`');
    PREPARE create_view FROM @shardid_view;
    EXECUTE create_view;
    DEALLOCATE PREPARE create_view;
    SET @shardid_view = NULL;
END;
