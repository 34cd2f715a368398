-- As in V5__next_ticket.sql, but single numbers under READ UNCOMMITTED and SERIALIZABLE:
-- there, nobody can look for old rows of blocks without waiting for others, so these rows
-- grew without end. See V18__note_block.sql.

DROP FUNCTION IF EXISTS shardid.next_ticket;
CREATE FUNCTION shardid.next_ticket(ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The next number of a ticket'
BEGIN
    DECLARE session_us BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', sysdate(6));
    DECLARE how_many, block_row, own_row BIGINT UNSIGNED DEFAULT NULL;
    DECLARE turn INT DEFAULT 1;
    IF @shardid_ticket = ticket AND abs(unix_timestamp() - @shardid_ticket_statement_s) <= 1
       AND session_us BETWEEN @shardid_ticket_session_us AND @shardid_ticket_session_us + 100000 THEN
        IF @shardid_ticket_number < @shardid_ticket_last THEN
            SELECT b.id INTO block_row FROM shardid.block b WHERE b.id = @shardid_ticket_block_row;
        END IF;
        IF block_row IS NOT NULL THEN
            SET @shardid_ticket_number = @shardid_ticket_number + @shardid_ticket_step;
            RETURN @shardid_ticket_number;
        END IF;
        SET turn = @shardid_ticket_turn + 1;
    END IF;
    -- Each engine has its own name for it.
    IF turn > 8 AND /*!80000 @@SESSION.transaction_isolation */ /*M! @@SESSION.tx_isolation */ IN ('READ-COMMITTED', 'REPEATABLE-READ') THEN
        SET how_many = 1 << least(turn - 8, 5);
        BEGIN
            -- Not so many are left: then one.
            DECLARE CONTINUE HANDLER FOR SQLSTATE '22003', SQLSTATE '55000' SET how_many = NULL;
            SET @shardid_ticket_number = shardid.take_tickets(ticket, how_many, FALSE);
        END;
    END IF;
    IF how_many IS NULL THEN
        SET @shardid_ticket_number = shardid.take_tickets(ticket, 1, FALSE);
        SET @shardid_ticket_last = @shardid_ticket_number;
    ELSE
        CALL shardid.note_block(own_row);
        SELECT t.servers INTO @shardid_ticket_step FROM shardid.ticket t WHERE t.name = ticket;
        SET @shardid_ticket_last = @shardid_ticket_number + (how_many - 1) * @shardid_ticket_step, @shardid_ticket_block_row = own_row;
    END IF;
    SET @shardid_ticket = ticket, @shardid_ticket_turn = turn,
        @shardid_ticket_session_us = session_us, @shardid_ticket_statement_s = unix_timestamp();
    RETURN @shardid_ticket_number;
END;
