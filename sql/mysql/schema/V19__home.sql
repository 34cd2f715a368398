-- Which server hands out numbers. What is replicated, dumped or copied is also on the server
-- that takes over, and may lack the last numbers that its source gave. Each ticket, shard
-- and segment tag therefore says whose it is, by what is not replicated: MySQL's server_uuid; on
-- MariaDB, which has none, server_id, by which replication tells servers apart. On any other
-- server they are refused, until somebody calls adopt() there.
--
-- It stands in the rows that are read anyway, since each table that a function comes to costs.

DROP PROCEDURE IF EXISTS shardid.add_home;
CREATE PROCEDURE shardid.add_home()
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Adds the columns; those that are there, stay'
BEGIN
    DECLARE CONTINUE HANDLER FOR 1060 BEGIN END;
    ALTER TABLE shardid.ticket ADD COLUMN home VARCHAR(64) COMMENT 'the server that hands it out';
    ALTER TABLE shardid.ticket ADD COLUMN raising BIGINT UNSIGNED COMMENT 'the row by which a table of Flickr''s is being raised';
    ALTER TABLE shardid.shard ADD COLUMN home VARCHAR(64) COMMENT 'the server that makes its ids';
    ALTER TABLE shardid.segment ADD COLUMN home VARCHAR(64) COMMENT 'the server that hands it out';
END;
CALL shardid.add_home();
DROP PROCEDURE IF EXISTS shardid.add_home;

DROP FUNCTION IF EXISTS shardid.here;
CREATE FUNCTION shardid.here()
    RETURNS VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'What this server is known by, and no other'
    RETURN concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */);

UPDATE shardid.ticket t SET t.home = shardid.here() WHERE t.home IS NULL;
UPDATE shardid.shard s SET s.home = shardid.here() WHERE s.home IS NULL;
UPDATE shardid.segment s SET s.home = shardid.here() WHERE s.home IS NULL;

-- What is made here is of here. No trigger is run for what a replica is sent by row. (MySQL takes
-- the semicolon behind a SET for a part of it, and a dump with that cannot be restored.)
DROP TRIGGER IF EXISTS shardid.ticket_is_of_here;
CREATE TRIGGER shardid.ticket_is_of_here BEFORE INSERT ON shardid.ticket FOR EACH ROW
    BEGIN SET NEW.home = shardid.here(); END;
DROP TRIGGER IF EXISTS shardid.shard_is_of_here;
CREATE TRIGGER shardid.shard_is_of_here BEFORE INSERT ON shardid.shard FOR EACH ROW
    BEGIN SET NEW.home = shardid.here(); END;
DROP TRIGGER IF EXISTS shardid.segment_is_of_here;
CREATE TRIGGER shardid.segment_is_of_here BEFORE INSERT ON shardid.segment FOR EACH ROW
    BEGIN SET NEW.home = shardid.here(); END;

DROP PROCEDURE IF EXISTS shardid.refuse_elsewhere;
CREATE PROCEDURE shardid.refuse_elsewhere(
    what VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, its_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    NO SQL SQL SECURITY DEFINER
    COMMENT 'Fails, because it is another server''s'
BEGIN
    DECLARE words TEXT DEFAULT left(concat(what, ' ', its_name, ' is of the server that this one was made from: hint: CALL shardid.adopt()'), 128);
    SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
END;
