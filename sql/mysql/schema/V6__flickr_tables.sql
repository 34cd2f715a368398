-- Flickr's ticket tables, for those who use its very statements:
--
--     REPLACE INTO Tickets64 (stub) VALUES ('a');
--     SELECT LAST_INSERT_ID();
--
-- The class of their numbers stands in shardid.ticket under their names. The
-- triggers take that row before anything else is locked, so these statements
-- stand in line instead of deadlocking, and nobody goes on with an old class.

CREATE TABLE IF NOT EXISTS shardid.Tickets64 (
    id   BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    stub CHAR(1)         NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    UNIQUE KEY stub (stub)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: Flickr''s table; make views of it with create_flickr_tables';

CREATE TABLE IF NOT EXISTS shardid.Tickets32 (
    id   INT UNSIGNED NOT NULL AUTO_INCREMENT,
    stub CHAR(1)      NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    UNIQUE KEY stub (stub)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: Flickr''s table; make views of it with create_flickr_tables';
