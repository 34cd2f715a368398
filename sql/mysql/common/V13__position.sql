-- Where each layout is: the counters of positions. A position is a tick and a
-- slot in one number, tick × slots + slot, and all shards of this server draw
-- from the counter of their layout. AUTO_INCREMENT is the one counter of the
-- engine that belongs to no transaction, goes only forward, and is as safe as
-- the redo log; the tables themselves are empty whenever nobody is looking.

CREATE TABLE IF NOT EXISTS shardid.position_instagram (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)
    ENGINE = InnoDB COMMENT 'shardid: the counter of positions of layout instagram';

CREATE TABLE IF NOT EXISTS shardid.position_snowflake (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)
    ENGINE = InnoDB COMMENT 'shardid: the counter of positions of layout snowflake';

CREATE TABLE IF NOT EXISTS shardid.position_uidgenerator (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)
    ENGINE = InnoDB COMMENT 'shardid: the counter of positions of layout uidgenerator';

CREATE TABLE IF NOT EXISTS shardid.position_log32 (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)
    ENGINE = InnoDB COMMENT 'shardid: the counter of positions of layout log32';

CREATE TABLE IF NOT EXISTS shardid.position_log32_2020 (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)
    ENGINE = InnoDB COMMENT 'shardid: the counter of positions of layout log32_2020';

CREATE TABLE IF NOT EXISTS shardid.position_decimal19 (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)
    ENGINE = InnoDB COMMENT 'shardid: the counter of positions of layout decimal19';

CREATE TABLE IF NOT EXISTS shardid.position_js53 (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)
    ENGINE = InnoDB COMMENT 'shardid: the counter of positions of layout js53';
