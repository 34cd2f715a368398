-- Clearing away the row of a block that is of no use any more, without waiting
-- where a transaction still holds it. See common/V14__next_id.sql.
--
-- Within a stored function MySQL takes no notice of SKIP LOCKED. But a row that is
-- seen is committed, in these two isolation levels, and nobody else deletes it:
-- each row is that of one block, and cleared away by the one that comes 5040 later.

DROP PROCEDURE IF EXISTS shardid.clear_block;
CREATE PROCEDURE shardid.clear_block(old_row BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Deletes the row of an old block, unless somebody holds it'
BEGIN
    DECLARE free_row BIGINT;
    IF @@SESSION.transaction_isolation IN ('READ-COMMITTED', 'REPEATABLE-READ') THEN
        SELECT b.id INTO free_row FROM shardid.block b WHERE b.id = old_row;
        IF free_row IS NOT NULL THEN
            DELETE FROM shardid.block WHERE id = free_row;
        END IF;
    END IF;
END;
