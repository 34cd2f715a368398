-- How ids are put together: (tick × shards + shard) × slots + slot. These are
-- the layouts that come with shardid, with the same numbers on every engine.

CREATE TABLE IF NOT EXISTS shardid.layout (
    name     VARCHAR(63) NOT NULL,
    epoch_us BIGINT      NOT NULL COMMENT 'its first instant, in microseconds since 1970, UTC',
    tick_us  BIGINT      NOT NULL COMMENT 'its unit of time, in microseconds',
    ticks    BIGINT      NOT NULL COMMENT 'how many of them fit',
    shards   BIGINT      NOT NULL COMMENT 'how many shards there may be',
    slots    BIGINT      NOT NULL COMMENT 'how many ids a shard has in a tick',
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: how ids are put together';

INSERT IGNORE INTO shardid.layout (name, epoch_us, tick_us, ticks, shards, slots) VALUES
    ('instagram',    1767225600000000, 1000,    1099511627776, 8192,    1024),
    ('snowflake',    1288834974657000, 1000,    2199023255552, 1024,    4096),
    ('uidgenerator', 1474300800000000, 1000000, 536870912,     2097152, 8192),
    ('log32',        0,                1000000, 2147483648,    1024,    4194304),
    ('log32_2020',   1577836800000000, 1000000, 2147483648,    1024,    4194304),
    ('decimal19',    0,                1000000, 9223372036,    100,     10000000),
    ('js53',         1767225600000000, 1000000, 4294967296,    256,     8192);

CREATE OR REPLACE SQL SECURITY DEFINER VIEW shardid.layouts AS
SELECT l.name,
       timestamp('1970-01-01') + INTERVAL l.epoch_us MICROSECOND AS epoch,
       l.tick_us, l.ticks, l.shards, l.slots,
       timestamp('1970-01-01') + INTERVAL (l.epoch_us + l.ticks * l.tick_us) MICROSECOND AS ends_at,
       datediff(timestamp('1970-01-01') + INTERVAL (l.epoch_us + l.ticks * l.tick_us) MICROSECOND, utc_timestamp()) AS days_left
FROM shardid.layout l;
