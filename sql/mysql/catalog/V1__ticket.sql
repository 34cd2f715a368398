-- Tickets, the servers that hand them out, and changes of those servers, in a
-- catalogue on MySQL: the same as sql/postgres/catalog/V8__ticket.sql.

CREATE TABLE IF NOT EXISTS shardid.ticket_node (
    node      VARCHAR(63) PRIMARY KEY,
    identity  VARCHAR(200) NOT NULL,
    mark      VARCHAR(64),
    next_mark VARCHAR(64)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: which server a ticket node is, and the mark left there to know it again by';

CREATE TABLE IF NOT EXISTS shardid.ticket_server (
    ticket        VARCHAR(63) NOT NULL,
    server        INT NOT NULL,
    node          VARCHAR(63) NOT NULL,
    last_number   BIGINT COMMENT 'the highest number known to have been handed out there',
    last_us       BIGINT,
    before_number BIGINT,
    before_us     BIGINT,
    PRIMARY KEY (ticket, server),
    UNIQUE KEY (ticket, node)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: the servers of each ticket, and how far they were at the last two looks';

-- A change is standing until it is done: one of them a ticket at most.
CREATE TABLE IF NOT EXISTS shardid.ticket_change (
    `change`     BIGINT AUTO_INCREMENT PRIMARY KEY,
    ticket       VARCHAR(63) NOT NULL,
    nodes_before TEXT NOT NULL,
    nodes_after  TEXT NOT NULL,
    nodes_gone   TEXT NOT NULL,
    `floor`      BIGINT NOT NULL COMMENT 'numbers of the old servers are at or below it, those of the new ones above',
    state        VARCHAR(16) NOT NULL,
    planned_at   DATETIME(6) NOT NULL,
    planned_by   VARCHAR(200) NOT NULL,
    since        DATETIME(6) NOT NULL,
    standing     VARCHAR(63) AS (CASE WHEN state <> 'done' THEN ticket END) STORED,
    UNIQUE KEY (standing)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  COMMENT 'shardid: the journal of changes of the servers of tickets';
