-- next_ticket failed with a deadlock (1213) on MariaDB, rarely, where its ticket was raised or dropped while sessions had blocks
-- of it. The optimizer answers max() from the index before it runs the statement; there it locks the
-- row beside the one that is asked for as well, and waits for it, whatever SKIP LOCKED says. Who waits for a block while he has
-- the ticket waits in a circle.

DROP PROCEDURE IF EXISTS shardid.hold_ticket;
CREATE PROCEDURE shardid.hold_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, OUT last BIGINT UNSIGNED, OUT largest BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Locks a ticket of which nobody has a block any more, in a transaction that it begins'
hold_ticket: LOOP
    BEGIN
        DECLARE its_place, free_place, wait_for INT;
        DECLARE done BOOL DEFAULT FALSE;
        DECLARE blocks CURSOR FOR SELECT b.place FROM shardid.ticket_block b WHERE b.ticket = ticket AND b.numbers > 0;
        -- MariaDB with innodb_snapshot_isolation: somebody has used a block since the look. Then look again.
        DECLARE EXIT HANDLER FOR 1020 BEGIN END;
        COMMIT AND NO CHAIN NO RELEASE;
        SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
        START TRANSACTION;
        SET last = NULL, largest = NULL;
        SELECT t.last_ticket, t.max_ticket INTO last, largest FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
        -- Whoever has a block took it before, and nobody takes another one while the ticket is held. The
        -- first look that takes no lock is this one, so it sees them all.
        BEGIN
            DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
            OPEN blocks;
            leave_out: LOOP
                FETCH blocks INTO its_place;
                IF done THEN
                    LEAVE leave_out;
                END IF;
                SET free_place = NULL;
                BEGIN
                    DECLARE CONTINUE HANDLER FOR NOT FOUND SET free_place = NULL;
                    SELECT b.place INTO free_place FROM shardid.ticket_block b WHERE b.place = its_place FOR UPDATE SKIP LOCKED;
                END;
                IF free_place IS NULL THEN
                    SET wait_for = its_place;
                    LEAVE leave_out;
                END IF;
                UPDATE shardid.ticket_block b SET b.numbers = 0 WHERE b.place = its_place AND b.ticket = ticket;
            END LOOP;
            CLOSE blocks;
        END;
        IF wait_for IS NULL THEN
            LEAVE hold_ticket;
        END IF;
        -- Its session may want the ticket next: it is waited for without holding that.
        ROLLBACK AND NO CHAIN NO RELEASE;
        START TRANSACTION;
        UPDATE shardid.ticket_block b SET b.numbers = 0 WHERE b.place = wait_for AND b.ticket = ticket;
        COMMIT AND NO CHAIN NO RELEASE;
    END;
END LOOP;
