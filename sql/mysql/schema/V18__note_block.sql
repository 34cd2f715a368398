-- The row of a block, by which its session sees later whether the transaction that
-- took the block was undone. See V14__next_id.sql and V5__next_ticket.sql.
--
-- An old row of somebody's goes meanwhile: it has no use any more, and a session
-- that misses its row takes another block. A row that is seen is committed, in these
-- two isolation levels, and nobody else deletes it: each is that of one block, and
-- cleared away by the one that comes 5040 later. So nobody is waited for.

DROP PROCEDURE IF EXISTS shardid.note_block;
CREATE PROCEDURE shardid.note_block(OUT own_row BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Makes the row of a block, and clears away an old one'
BEGIN
    DECLARE old_row BIGINT UNSIGNED;
    INSERT INTO shardid.block () VALUES ();
    SET own_row = last_insert_id();
    -- Each engine has its own name for it.
    IF /*!80000 @@SESSION.transaction_isolation */ /*M! @@SESSION.tx_isolation */ IN ('READ-COMMITTED', 'REPEATABLE-READ') THEN
        SELECT b.id INTO old_row FROM shardid.block b WHERE b.id = greatest(own_row, 5040) - 5040;
        IF old_row IS NOT NULL THEN
            DELETE FROM shardid.block WHERE id = old_row;
        END IF;
    END IF;
END;
