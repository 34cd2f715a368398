-- The shards that this server makes ids for. A shard lives on one server. What
-- next_id has to know of the layout, which never changes, stands in the shard's
-- own row: each table that a function could come to costs every call of it.

CREATE TABLE IF NOT EXISTS shardid.shard (
    shard      BIGINT      NOT NULL,
    layout     VARCHAR(63) NOT NULL,
    state      VARCHAR(8)  NOT NULL DEFAULT 'open' COMMENT 'open, fenced or moved',
    created_at DATETIME(6) NOT NULL               COMMENT 'in UTC',
    epoch_us   BIGINT      NOT NULL,
    tick_us    BIGINT      NOT NULL,
    ticks      BIGINT      NOT NULL,
    shards     BIGINT      NOT NULL,
    slots      BIGINT      NOT NULL,
    PRIMARY KEY (shard),
    CONSTRAINT shard_layout FOREIGN KEY (layout) REFERENCES shardid.layout (name),
    CONSTRAINT shard_state CHECK (state IN ('open', 'fenced', 'moved'))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: the shards of this server';

CREATE OR REPLACE SQL SECURITY DEFINER VIEW shardid.shards AS
SELECT s.shard, s.layout, s.state, s.created_at FROM shardid.shard s;

DROP PROCEDURE IF EXISTS shardid.create_shard;
CREATE PROCEDURE shardid.create_shard(
    shard BIGINT, layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Makes a shard: next_id(shard) hands out its ids from now on'
BEGIN
    DECLARE words TEXT;
    DECLARE most BIGINT;
    DECLARE EXIT HANDLER FOR 1062 BEGIN
        SET words = concat('shard ', shard, ' exists already: hint: SELECT * FROM shardid.shards');
        SIGNAL SQLSTATE '42710' SET MESSAGE_TEXT = words;
    END;
    SELECT l.shards INTO most FROM shardid.layout l WHERE l.name = layout;
    IF most IS NULL THEN
        SET words = left(concat('layout ', coalesce(layout, 'NULL'), ' does not exist: hint: SELECT name FROM shardid.layouts'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT coalesce(shard BETWEEN 0 AND most - 1, FALSE) THEN
        SET words = concat('shard ', coalesce(shard, 'NULL'), ' is outside 0 to ', most - 1, ' of layout ', layout);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    INSERT INTO shardid.shard (shard, layout, created_at, epoch_us, tick_us, ticks, shards, slots)
    SELECT shard, l.name, utc_timestamp(6), l.epoch_us, l.tick_us, l.ticks, l.shards, l.slots
    FROM shardid.layout l WHERE l.name = layout;
END;

DROP PROCEDURE IF EXISTS shardid.drop_shard;
CREATE PROCEDURE shardid.drop_shard(shard BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Forgets a shard; made again, it goes on above its ids'
BEGIN
    DECLARE words TEXT;
    DELETE FROM s USING shardid.shard s WHERE s.shard = shard;
    IF row_count() = 0 THEN
        SET words = concat('shard ', coalesce(shard, 'NULL'), ' does not exist: hint: SELECT * FROM shardid.shards');
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    END IF;
END;
