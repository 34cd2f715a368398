-- Where the ids of this server are: one counter of microseconds since 1970, UTC,
-- for all its shards. An id takes one of them, or as many as its layout has for
-- a slot, so two ids never have one. AUTO_INCREMENT is the one counter of the
-- engine that belongs to no transaction and that can only be raised. The table
-- itself is empty, whenever nobody is taking ids.

CREATE TABLE IF NOT EXISTS shardid.position (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)
    ENGINE = InnoDB COMMENT 'shardid: the counter of microseconds that ids are taken from';

CREATE TABLE IF NOT EXISTS shardid.block (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)
    ENGINE = InnoDB COMMENT 'shardid: a row for each block of ids or tickets, for as long as somebody may want to see it';
