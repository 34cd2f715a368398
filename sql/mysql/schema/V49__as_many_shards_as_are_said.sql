-- A number of shards above that of an INT was cut to it in sessions without strict mode, and a key belonged to another shard.

DROP FUNCTION IF EXISTS shardid.shard_for;
DROP FUNCTION IF EXISTS shardid.shard_for_binary;
CREATE FUNCTION shardid.shard_for_binary(bytes LONGBLOB, shards BIGINT)
    RETURNS INT DETERMINISTIC NO SQL SQL SECURITY DEFINER
    COMMENT 'The shard, 0 to shards - 1, that a key of bytes belongs to'
BEGIN
    DECLARE words TEXT CHARACTER SET utf8mb4;
    IF shards NOT BETWEEN 1 AND 2147483647 THEN
        SET words = concat('a key cannot belong to one of ', shards, ' shards');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    END IF;
    -- conv() gives a text, which % would take for a DOUBLE of 53 bits.
    RETURN CAST(conv(left(sha2(bytes, 256), 15), 16, 10) AS UNSIGNED) % shards;
END;

CREATE FUNCTION shardid.shard_for(key_text LONGTEXT CHARACTER SET utf8mb4, shards BIGINT)
    RETURNS INT DETERMINISTIC NO SQL SQL SECURITY DEFINER
    COMMENT 'The shard, 0 to shards - 1, that a key belongs to; a number is taken by its decimal digits'
BEGIN
    RETURN shardid.shard_for_binary(CAST(key_text AS BINARY), shards);
END;
