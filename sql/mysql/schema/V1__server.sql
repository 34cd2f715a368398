-- Which server this is. The instance is part of every backup; the mark is
-- written at each look, so a server made from an old backup carries an old one.

CREATE TABLE IF NOT EXISTS shardid.server (
    id        TINYINT     NOT NULL DEFAULT 1 COMMENT 'always 1: there is one row',
    instance  CHAR(36)    NOT NULL           COMMENT 'made at install',
    mark      CHAR(36)                       COMMENT 'what the program last left here',
    marked_at DATETIME(6)                    COMMENT 'when, in UTC',
    PRIMARY KEY (id),
    CONSTRAINT server_is_one CHECK (id = 1)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: which server this is';

INSERT IGNORE INTO shardid.server (id, instance) VALUES (1, UUID());
