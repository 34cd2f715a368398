-- A ticket without gaps of another server is not adopted by adopt(), which would leave numbers out: who
-- asks for a number of it is told what does.

DROP FUNCTION IF EXISTS shardid.refuse_ticket;
CREATE FUNCTION shardid.refuse_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, without_gaps BOOL)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'Fails, and says why a ticket has no number'
BEGIN
    DECLARE words TEXT;
    DECLARE stop_at, largest BIGINT UNSIGNED;
    DECLARE its_way, is_used, is_here BOOL;
    SELECT t.ceiling, t.max_ticket, t.gapless, t.last_ticket > t.`floor`, t.home <=> shardid.here()
    INTO stop_at, largest, its_way, is_used, is_here
    FROM shardid.ticket t WHERE t.name = ticket LOCK IN SHARE MODE;
    IF largest IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: shardid tickets status; with no cluster CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT is_here AND its_way THEN
        SET words = left(concat('ticket ', ticket, ' is of the server that this one was made from: hint: CALL shardid.raise_ticket(''', ticket, ''', its last number)'), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF NOT is_here THEN
        CALL shardid.refuse_elsewhere('ticket', ticket);
    ELSEIF ticket IN ('Tickets32', 'Tickets64') THEN
        SET words = concat('ticket ', ticket, ' is a table: hint: REPLACE INTO ', ticket, ' (stub) VALUES (''a''); SELECT LAST_INSERT_ID()');
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF its_way AND NOT without_gaps THEN
        SET words = left(concat('ticket ', ticket, ' is without gaps: hint: SELECT shardid.next_ticket_gapless(''', ticket, ''')'), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF without_gaps AND is_used AND NOT its_way THEN
        SET words = left(concat('ticket ', ticket, ' may have gaps: next_ticket has handed out numbers of it'), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    ELSEIF stop_at IS NOT NULL AND stop_at <= largest THEN
        SET words = left(concat('ticket ', ticket, ' ends before ', stop_at, ' on this server: hint: shardid tickets status'), 128);
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = words;
    END IF;
    SET words = left(concat('ticket ', ticket, ' is used up: its largest number is ', largest), 128);
    SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    -- Not reached, but a function has to have it.
    RETURN NULL;
END;
