-- Ids as 13 characters of Crockford's base 32, which sort like the number.

DROP FUNCTION IF EXISTS shardid.id_text;
CREATE FUNCTION shardid.id_text(id BIGINT)
    RETURNS CHAR(13) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DETERMINISTIC NO SQL SQL SECURITY DEFINER
    COMMENT 'An id as 13 characters that sort like the number'
BEGIN
    DECLARE words, text TEXT CHARACTER SET utf8mb4 DEFAULT '';
    DECLARE rest BIGINT DEFAULT id;
    IF id IS NULL THEN
        RETURN NULL;
    ELSEIF id < 0 THEN
        SET words = concat('id ', id, ' is negative');
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    WHILE char_length(text) < 13 DO
        SET text = concat(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', rest % 32 + 1, 1), text), rest = rest DIV 32;
    END WHILE;
    RETURN text;
END;

DROP FUNCTION IF EXISTS shardid.id_from_text;
CREATE FUNCTION shardid.id_from_text(id_text TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT DETERMINISTIC NO SQL SQL SECURITY DEFINER
    COMMENT 'The id of a text; lower case will do, and I, L, O for 1, 1, 0'
BEGIN
    DECLARE words TEXT CHARACTER SET utf8mb4;
    DECLARE text TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT replace(replace(replace(upper(id_text), 'I', '1'), 'L', '1'), 'O', '0');
    DECLARE digit, place INT DEFAULT 1;
    DECLARE id BIGINT DEFAULT 0;
    IF id_text IS NULL THEN
        RETURN NULL;
    ELSEIF char_length(text) <> 13 THEN
        SET words = concat('an id as text has 13 characters, not ', char_length(text));
        SIGNAL SQLSTATE '22P02' SET MESSAGE_TEXT = words;
    END IF;
    WHILE place <= 13 DO
        SET digit = locate(substr(text, place, 1), '0123456789ABCDEFGHJKMNPQRSTVWXYZ' COLLATE utf8mb4_bin) - 1;
        IF digit < 0 THEN
            SET words = left(concat('not an id as text: ', id_text), 128);
            SIGNAL SQLSTATE '22P02' SET MESSAGE_TEXT = words;
        ELSEIF place = 1 AND digit > 7 THEN
            -- 13 characters hold 65 bits: the first may only use its low three.
            SET words = left(concat('larger than the largest id: ', id_text), 128);
            SIGNAL SQLSTATE '22P02' SET MESSAGE_TEXT = words;
        END IF;
        SET id = id * 32 + digit, place = place + 1;
    END WHILE;
    RETURN id;
END;
