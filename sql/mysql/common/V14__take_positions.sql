-- Positions, taken from the counter of a layout: the next ones, or the clock's
-- where that is later. Whoever takes holds a user lock for these few statements,
-- never for a transaction: that is what makes "look, then raise" one step. A row
-- with a number of its own raises the counter for good; each row is deleted by
-- its own key, since anything else could wait for the rows of others.

DROP PROCEDURE IF EXISTS shardid.take_positions;
CREATE PROCEDURE shardid.take_positions(
    layout VARCHAR(63) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    clock BIGINT, furthest BIGINT, wanted BIGINT, OUT first_position BIGINT, OUT last_position BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Takes so many positions, from the clock on; only one where it is further than may be'
BEGIN
    DECLARE words TEXT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN DO release_lock(concat('shardid.position_', layout)); RESIGNAL; END;
    IF NOT coalesce(get_lock(concat('shardid.position_', layout), 10), FALSE) THEN
        SET words = concat('could not take ids of layout ', layout, ' within 10 s');
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    END IF;
    CASE layout
    WHEN 'instagram' THEN
        INSERT INTO shardid.position_instagram () VALUES ();
        SET first_position = last_insert_id();
        DELETE FROM shardid.position_instagram WHERE id = first_position;
    WHEN 'snowflake' THEN
        INSERT INTO shardid.position_snowflake () VALUES ();
        SET first_position = last_insert_id();
        DELETE FROM shardid.position_snowflake WHERE id = first_position;
    WHEN 'uidgenerator' THEN
        INSERT INTO shardid.position_uidgenerator () VALUES ();
        SET first_position = last_insert_id();
        DELETE FROM shardid.position_uidgenerator WHERE id = first_position;
    WHEN 'log32' THEN
        INSERT INTO shardid.position_log32 () VALUES ();
        SET first_position = last_insert_id();
        DELETE FROM shardid.position_log32 WHERE id = first_position;
    WHEN 'log32_2020' THEN
        INSERT INTO shardid.position_log32_2020 () VALUES ();
        SET first_position = last_insert_id();
        DELETE FROM shardid.position_log32_2020 WHERE id = first_position;
    WHEN 'decimal19' THEN
        INSERT INTO shardid.position_decimal19 () VALUES ();
        SET first_position = last_insert_id();
        DELETE FROM shardid.position_decimal19 WHERE id = first_position;
    WHEN 'js53' THEN
        INSERT INTO shardid.position_js53 () VALUES ();
        SET first_position = last_insert_id();
        DELETE FROM shardid.position_js53 WHERE id = first_position;
    END CASE;
    SET last_position = first_position;
    IF first_position <= furthest THEN
        IF clock > first_position THEN
            SET first_position = clock;
        END IF;
        IF first_position + wanted - 1 > last_position THEN
            SET last_position = first_position + wanted - 1;
            CASE layout
            WHEN 'instagram' THEN
                INSERT INTO shardid.position_instagram (id) VALUES (last_position);
                DELETE FROM shardid.position_instagram WHERE id = last_position;
            WHEN 'snowflake' THEN
                INSERT INTO shardid.position_snowflake (id) VALUES (last_position);
                DELETE FROM shardid.position_snowflake WHERE id = last_position;
            WHEN 'uidgenerator' THEN
                INSERT INTO shardid.position_uidgenerator (id) VALUES (last_position);
                DELETE FROM shardid.position_uidgenerator WHERE id = last_position;
            WHEN 'log32' THEN
                INSERT INTO shardid.position_log32 (id) VALUES (last_position);
                DELETE FROM shardid.position_log32 WHERE id = last_position;
            WHEN 'log32_2020' THEN
                INSERT INTO shardid.position_log32_2020 (id) VALUES (last_position);
                DELETE FROM shardid.position_log32_2020 WHERE id = last_position;
            WHEN 'decimal19' THEN
                INSERT INTO shardid.position_decimal19 (id) VALUES (last_position);
                DELETE FROM shardid.position_decimal19 WHERE id = last_position;
            WHEN 'js53' THEN
                INSERT INTO shardid.position_js53 (id) VALUES (last_position);
                DELETE FROM shardid.position_js53 WHERE id = last_position;
            END CASE;
        END IF;
    END IF;
    DO release_lock(concat('shardid.position_', layout));
END;
