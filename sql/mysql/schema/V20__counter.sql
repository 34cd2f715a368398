-- Where the ids of this server are: counters that next_id draws from, for all shards
-- at once. `counter` is of microseconds since 1970, UTC; `counter_128` is of 128
-- microseconds each, for layouts with fewer slots than microseconds. Every id is a
-- number of its own, so no two are the same, whatever the shard.
--
-- AUTO_INCREMENT is the one counter of the engine that belongs to no transaction, never
-- gives a number twice, and is raised for good by a row with a larger number. A row
-- is there for as long as its statement takes. The session's number is in the key, so that two
-- that raise the counter to one number do not wait for each other's transactions.
--
-- One row always stays: MariaDB loads into an empty table under a lock on the whole of
-- it, where a session has switched its checks off.

CREATE TABLE IF NOT EXISTS shardid.counter (
    id      BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    session BIGINT UNSIGNED NOT NULL COMMENT 'whose number it is',
    PRIMARY KEY (id, session)
) ENGINE = InnoDB COMMENT 'shardid: the counter of microseconds that ids are drawn from';

CREATE TABLE IF NOT EXISTS shardid.counter_128 (
    id      BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    session BIGINT UNSIGNED NOT NULL COMMENT 'whose number it is',
    PRIMARY KEY (id, session)
) ENGINE = InnoDB COMMENT 'shardid: the counter of 128 microseconds each, for layouts with few slots';

INSERT IGNORE INTO shardid.counter (id, session) VALUES (1, 0);
INSERT IGNORE INTO shardid.counter_128 (id, session) VALUES (1, 0);
