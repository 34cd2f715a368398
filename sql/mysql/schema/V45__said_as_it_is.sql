-- In READ COMMITTED a ticket at its ceiling was said to be used up (22003) where the ceiling was lifted just then: the row
-- that did not fit was let go of before it was asked why.

DROP FUNCTION IF EXISTS shardid.take_tickets;
CREATE FUNCTION shardid.take_tickets(
    ticket VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, how_many BIGINT, without_gaps BOOL)
    RETURNS BIGINT UNSIGNED NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
    COMMENT 'What next_ticket, next_tickets and next_ticket_gapless do'
BEGIN
    DECLARE words TEXT;
    DECLARE found INT;
    DECLARE held BOOL DEFAULT FALSE;
    IF concat('', @@GLOBAL.read_only) NOT IN ('0', 'OFF') THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT =
            'the server is read-only: hint: ask the one that takes writes; if it is this one, SET GLOBAL read_only = 0';
    END IF;
    take: LOOP
        UPDATE shardid.ticket t
        SET t.last_ticket = last_insert_id(t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers)
                            + (how_many - 1) * t.servers,
            t.gapless = without_gaps
        WHERE how_many BETWEEN 1 AND 1000000 AND t.name = ticket AND t.home = concat('', /*!80000 @@GLOBAL.server_uuid */ /*M! @@GLOBAL.server_id */) AND t.name NOT IN ('Tickets32', 'Tickets64')
          AND (t.gapless = without_gaps OR without_gaps AND t.last_ticket = t.`floor`)
          AND t.last_ticket + 1 + (t.server + t.servers - (t.last_ticket + 1) % t.servers) % t.servers
              + (how_many - 1) * t.servers <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket));
        IF row_count() = 1 THEN
            RETURN last_insert_id();
        ELSEIF held THEN
            LEAVE take;
        END IF;
        -- READ COMMITTED lets go of a row that does not fit: what is said of it is to be so, and a
        -- number that somebody has made possible meanwhile is taken.
        SELECT count(*) INTO found FROM shardid.ticket t WHERE t.name = ticket FOR UPDATE;
        SET held = TRUE;
    END LOOP;
    IF NOT coalesce(how_many BETWEEN 1 AND 1000000, FALSE) THEN
        SET words = concat('cannot hand out ', coalesce(how_many, 'NULL'), ' numbers at once: hint: 1 to 1000000');
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = words;
    ELSEIF without_gaps IS NULL THEN
        SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = 'tickets are handed out with gaps or without: hint: 0 or 1';
    END IF;
    RETURN shardid.refuse_ticket(ticket, without_gaps);
END;
