-- The blocks in which a busy session takes tickets, in a table. What a session knew of
-- its block lay in user variables, which any client may set.
--
-- A session's block lies in the row that its connection's number says, so there are no rows to
-- make or to clear away. Two sessions have one row where their numbers are 4096 apart; then
-- the second takes single numbers while the first is in a transaction with a ticket. (MySQL does not
-- heed SKIP LOCKED in a stored function: there it waits for that transaction.) A transaction that is
-- undone takes its block back, together with the numbers. A session uses its block for a
-- tenth of a second; older ones are those of sessions that ended, or of a restored dump.
--
-- Tickets are handed out by their own server alone: see V19__home.sql.

CREATE TABLE IF NOT EXISTS shardid.ticket_block (
    place       SMALLINT UNSIGNED NOT NULL COMMENT 'the number of the connection modulo 4096',
    session     BIGINT UNSIGNED   NOT NULL COMMENT 'the connection that has the block',
    ticket      VARCHAR(64)       NOT NULL,
    turn        INT UNSIGNED      NOT NULL COMMENT 'how often it took numbers off the ticket without a pause',
    next_number BIGINT UNSIGNED   NOT NULL,
    numbers     INT UNSIGNED      NOT NULL COMMENT 'how many are left',
    step        INT UNSIGNED      NOT NULL,
    home        VARCHAR(64)       NOT NULL COMMENT 'the server that it is a session of',
    taken_us    BIGINT            NOT NULL COMMENT 'when it last took a number, by the clock and zone of the session',
    PRIMARY KEY (place)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: the blocks that busy sessions take tickets in';

INSERT IGNORE INTO shardid.ticket_block (place, session, ticket, turn, next_number, numbers, step, home, taken_us)
WITH RECURSIVE digit AS (SELECT 0 AS n UNION ALL SELECT d.n + 1 FROM digit d WHERE d.n < 63)
SELECT 64 * a.n + b.n, 0, '', 0, 0, 0, 0, '', 0 FROM digit a JOIN digit b;

DROP FUNCTION IF EXISTS shardid.take_tickets;
CREATE FUNCTION shardid.take_tickets(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, how_many BIGINT, without_gaps BOOL)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'What next_ticket, next_tickets and next_ticket_gapless do'
BEGIN
    UPDATE shardid.ticket t
    SET t.last_ticket = last_insert_id(t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers)
                        + (how_many - 1) * t.servers,
        t.gapless = without_gaps
    WHERE t.name = ticket AND t.home = concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */) AND t.name NOT IN ('Tickets32', 'Tickets64')
      AND (t.gapless = without_gaps OR without_gaps AND t.last_ticket = t.`floor`)
      AND t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers
          + (how_many - 1) * t.servers <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket));
    IF row_count() = 1 THEN
        RETURN last_insert_id();
    END IF;
    RETURN shardid.refuse_ticket(ticket, without_gaps);
END;

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
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
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

DROP FUNCTION IF EXISTS shardid.next_ticket;
CREATE FUNCTION shardid.next_ticket(ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The next number of a ticket'
BEGIN
    DECLARE now_us BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', sysdate(6));
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE here VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */);
    DECLARE its_place, its_turn, numbers_left, its_step INT;
    DECLARE number BIGINT UNSIGNED;
    DECLARE how_many INT DEFAULT 1;
    DECLARE is_mine BOOL;
    -- The place before the ticket: all do it in this order, so nobody waits in a circle.
    SELECT b.place, b.turn, b.next_number, b.numbers,
           b.session = me AND b.home = here AND b.ticket = ticket AND now_us BETWEEN b.taken_us AND b.taken_us + 100000
    INTO its_place, its_turn, number, numbers_left, is_mine
    FROM shardid.ticket_block b WHERE b.place = me % 4096 FOR UPDATE SKIP LOCKED;
    IF its_place IS NULL THEN
        RETURN shardid.take_tickets(ticket, 1, FALSE);
    ELSEIF is_mine AND numbers_left > 0 THEN
        UPDATE shardid.ticket_block b
        SET b.next_number = b.next_number + b.step, b.numbers = b.numbers - 1, b.taken_us = now_us
        WHERE b.place = its_place;
        RETURN number;
    END IF;
    SET its_turn = if(is_mine, its_turn + 1, 1), number = NULL;
    IF its_turn > 8 THEN
        SET how_many = 1 << least(its_turn - 8, 5);
        BEGIN
            -- Not so many are left: then one.
            DECLARE CONTINUE HANDLER FOR SQLSTATE '22003', SQLSTATE '55000' SET number = NULL;
            SET number = shardid.take_tickets(ticket, how_many, FALSE);
        END;
    END IF;
    IF number IS NULL THEN
        SET how_many = 1, number = shardid.take_tickets(ticket, 1, FALSE);
    END IF;
    SELECT t.servers INTO its_step FROM shardid.ticket t WHERE t.name = ticket;
    UPDATE shardid.ticket_block b
    SET b.session = me, b.ticket = ticket, b.turn = its_turn, b.next_number = number + its_step,
        b.numbers = how_many - 1, b.step = its_step, b.home = here, b.taken_us = now_us
    WHERE b.place = its_place;
    RETURN number;
END;

-- The numbers of a session rise: what is left of its block is below those it takes otherwise.
DROP PROCEDURE IF EXISTS shardid.leave_block;
CREATE PROCEDURE shardid.leave_block()
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Leaves out what is left of the block of this session'
BEGIN
    DECLARE its_place INT;
    SELECT b.place INTO its_place FROM shardid.ticket_block b
    WHERE b.place = connection_id() % 4096 AND b.session = connection_id() FOR UPDATE SKIP LOCKED;
    IF its_place IS NOT NULL THEN
        UPDATE shardid.ticket_block b SET b.numbers = 0 WHERE b.place = its_place;
    END IF;
END;

DROP FUNCTION IF EXISTS shardid.next_tickets;
CREATE FUNCTION shardid.next_tickets(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, how_many BIGINT)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'The first of so many numbers, each servers more than the one before'
BEGIN
    DECLARE words TEXT;
    IF NOT coalesce(how_many BETWEEN 1 AND 1000000, FALSE) THEN
        SET words = concat('cannot hand out ', coalesce(how_many, 'NULL'), ' numbers at once: hint: 1 to 1000000');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    END IF;
    CALL shardid.leave_block();
    RETURN shardid.take_tickets(ticket, how_many, FALSE);
END;

DROP PROCEDURE IF EXISTS shardid.raise_ticket;
CREATE PROCEDURE shardid.raise_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, above BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Goes on above a number, on this server; never goes back'
BEGIN
    DECLARE words TEXT;
    DECLARE last, largest BIGINT UNSIGNED;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    CALL shardid.leave_block();
    START TRANSACTION;
    SELECT t.last_ticket, t.max_ticket INTO last, largest FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
    IF last IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT coalesce(above <= largest, FALSE) THEN
        SET words = left(concat('ticket ', ticket, ' cannot go on above ', coalesce(above, 'NULL'), ': its largest number is ', largest), 128);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    UPDATE shardid.ticket t SET t.last_ticket = greatest(t.last_ticket, above), t.home = shardid.here() WHERE t.name = ticket;
    CALL shardid.raise_table(ticket, greatest(last, above));
    COMMIT;
END;

-- What the user variables needed.
DROP PROCEDURE IF EXISTS shardid.note_block;
DROP TABLE IF EXISTS shardid.block;
