-- adopt and raise_ticket waited behind a transaction that XA had prepared, which no list of processes shows, and then
-- said only that they had waited.

DROP PROCEDURE IF EXISTS shardid.adopt_leaving_out;
CREATE PROCEDURE shardid.adopt_leaving_out(how_many BIGINT)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Hands out here what another server did, leaving out so many numbers of each ticket'
BEGIN
    DECLARE here VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT shardid.here();
    DECLARE me BIGINT UNSIGNED DEFAULT connection_id();
    DECLARE ahead BIGINT DEFAULT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 11000000;
    DECLARE words TEXT;
    DECLARE last_64, last_32 BIGINT UNSIGNED;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    -- One that was prepared has no session that could be seen or killed.
    DECLARE EXIT HANDLER FOR 1205 BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'a transaction with numbers does not end: hint: SHOW PROCESSLIST; XA RECOVER, XA COMMIT or XA ROLLBACK, then again';
    END;
    CALL shardid.refuse_read_only();
    IF NOT coalesce(how_many BETWEEN 0 AND 1000000000000, FALSE) THEN
        SET words = concat('cannot leave out ', coalesce(how_many, 'NULL'), ' numbers: hint: 0 to 1000000000000');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    ELSEIF timestampdiff(MICROSECOND, sysdate(6), now(6)) > 1000000 OR timestampdiff(MICROSECOND, now(6), sysdate(6)) > 1000000 THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'nothing is adopted where timestamp is set: hint: SET timestamp = DEFAULT';
    ELSEIF @@sql_safe_updates THEN
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'nothing is adopted where sql_safe_updates is set: hint: SET sql_safe_updates = 0';
    END IF;
    IF EXISTS (SELECT 1 FROM shardid.shard s WHERE NOT s.home <=> here) THEN
        START TRANSACTION;
        INSERT INTO shardid.counter (id, session) VALUES (ahead, me);
        DELETE FROM shardid.counter WHERE id = ahead AND session = me;
        INSERT INTO shardid.counter_128 (id, session) VALUES (ahead DIV 128 + 1, me);
        DELETE FROM shardid.counter_128 WHERE id = ahead DIV 128 + 1 AND session = me;
        COMMIT AND NO CHAIN NO RELEASE;
        -- Then nobody is refused because ids are more than 10 s ahead of the clock.
        DO sleep(1.1);
        UPDATE shardid.shard s SET s.home = here WHERE NOT s.home <=> here;
    END IF;
    START TRANSACTION;
    UPDATE shardid.ticket_block b SET b.numbers = 0 WHERE b.numbers > 0;
    SELECT max(CASE t.name WHEN 'Tickets64' THEN t.last_ticket END), max(CASE t.name WHEN 'Tickets32' THEN t.last_ticket END)
    INTO last_64, last_32 FROM shardid.ticket t WHERE NOT t.home <=> here;
    UPDATE shardid.ticket t
    SET t.last_ticket = t.last_ticket + how_many * t.servers, t.home = here
    WHERE NOT t.home <=> here AND NOT t.gapless
      AND t.last_ticket + how_many * t.servers <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket));
    IF last_64 IS NOT NULL THEN
        CALL shardid.raise_table('Tickets64', (SELECT t.last_ticket FROM shardid.ticket t WHERE t.name = 'Tickets64'));
    END IF;
    IF last_32 IS NOT NULL THEN
        CALL shardid.raise_table('Tickets32', (SELECT t.last_ticket FROM shardid.ticket t WHERE t.name = 'Tickets32'));
    END IF;
    -- A hundred segments for a million numbers, where that is more.
    UPDATE shardid.segment s
    SET s.max_id = s.max_id + greatest(how_many, how_many DIV 10000 * s.step), s.home = here
    WHERE NOT s.home <=> here AND s.max_id <= 9223372036854775807 - greatest(how_many, how_many DIV 10000 * s.step);
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT 'ticket' AS what, t.name, t.last_ticket AS goes_on_above, t.home <=> here AS adopted FROM shardid.ticket t
    UNION ALL SELECT 'segment tag', s.biz_tag, s.max_id, s.home <=> here FROM shardid.segment s
    UNION ALL SELECT 'shards', count(*), NULL, coalesce(min(s.home <=> here), TRUE) FROM shardid.shard s
    ORDER BY 1, 2;
END;

DROP PROCEDURE IF EXISTS shardid.raise_ticket;
CREATE PROCEDURE shardid.raise_ticket(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, above BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    COMMENT 'Goes on above a number, on this server; never goes back'
BEGIN
    DECLARE words TEXT;
    DECLARE last, largest BIGINT UNSIGNED;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
    DECLARE EXIT HANDLER FOR 1205 BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'a transaction with numbers does not end: hint: SHOW PROCESSLIST; XA RECOVER, XA COMMIT or XA ROLLBACK, then again';
    END;
    CALL shardid.refuse_read_only();
    CALL shardid.hold_ticket(ticket, last, largest);
    IF last IS NULL THEN
        SET words = left(concat('ticket ', coalesce(ticket, 'NULL'), ' does not exist: hint: shardid tickets status; with no cluster CALL shardid.create_ticket(''', coalesce(ticket, 'NULL'), ''', 1, 1)'), 128);
        SIGNAL SQLSTATE '42704' SET MESSAGE_TEXT = words;
    ELSEIF NOT coalesce(above <= largest, FALSE) THEN
        SET words = left(concat('ticket ', ticket, ' cannot go on above ', coalesce(above, 'NULL'), ': its largest number is ', largest), 128);
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = words;
    END IF;
    UPDATE shardid.ticket t SET t.last_ticket = greatest(t.last_ticket, above), t.home = shardid.here() WHERE t.name = ticket;
    CALL shardid.raise_table(ticket, greatest(last, above));
    COMMIT AND NO CHAIN NO RELEASE;
END;
