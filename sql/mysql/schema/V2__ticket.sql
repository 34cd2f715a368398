-- Tickets: counters that several servers share, each with its own class of
-- numbers. A number is in the class when number MOD servers = server MOD servers.

CREATE TABLE IF NOT EXISTS shardid.ticket (
    name        VARCHAR(64)     NOT NULL,
    server      INT UNSIGNED    NOT NULL COMMENT 'which of the servers this is, from 1',
    servers     INT UNSIGNED    NOT NULL COMMENT 'how many there are: the step from number to number',
    last_ticket BIGINT UNSIGNED NOT NULL COMMENT 'the last number handed out; further ones are above it',
    `floor`     BIGINT UNSIGNED NOT NULL COMMENT 'all numbers of this class are above it',
    ceiling     BIGINT UNSIGNED          COMMENT 'no number at or above it is handed out',
    max_ticket  BIGINT UNSIGNED NOT NULL COMMENT 'the largest number that its readers can hold',
    gapless     BOOL            NOT NULL DEFAULT FALSE COMMENT 'whether next_ticket_gapless hands it out',
    PRIMARY KEY (name),
    CONSTRAINT ticket_class CHECK (server BETWEEN 1 AND servers AND servers <= 1000),
    CONSTRAINT ticket_range CHECK (`floor` <= last_ticket AND last_ticket <= max_ticket)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: counters shared by several servers; change them by the procedures';

CREATE OR REPLACE SQL SECURITY DEFINER VIEW shardid.tickets AS
SELECT t.name, t.server, t.servers,
       CASE WHEN t.last_ticket > t.`floor` THEN t.last_ticket END AS last_ticket,
       t.ceiling, t.`floor`, t.gapless
FROM shardid.ticket t;
