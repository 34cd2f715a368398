-- Clearing away the row of a block that is of no use any more, without waiting
-- where a transaction still holds it. See common/V14__next_id.sql.

DROP PROCEDURE IF EXISTS shardid.clear_block;
CREATE PROCEDURE shardid.clear_block(old_row BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Deletes the row of an old block, unless somebody holds it'
BEGIN
    DECLARE free_row BIGINT;
    SELECT b.id INTO free_row FROM shardid.block b WHERE b.id = old_row FOR UPDATE SKIP LOCKED;
    IF free_row IS NOT NULL THEN
        DELETE FROM shardid.block WHERE id = free_row;
    END IF;
END;
