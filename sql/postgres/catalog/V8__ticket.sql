-- Tickets, the servers that hand them out, and changes of those servers. What
-- is seen of a server is kept, so that one which forgets numbers is noticed.

CREATE TABLE shardid.ticket_node (
    node      text PRIMARY KEY CHECK (node <> ''),
    identity  text NOT NULL,
    mark      text,
    next_mark text
);

CREATE TABLE shardid.ticket_server (
    ticket       text NOT NULL CHECK (ticket <> ''),
    server       integer NOT NULL CHECK (server > 0),
    node         text NOT NULL CHECK (node <> ''),
    last_number  bigint,
    last_us      bigint,
    before_number bigint,
    before_us    bigint,
    PRIMARY KEY (ticket, server),
    UNIQUE (ticket, node)
);

CREATE TABLE shardid.ticket_change (
    change       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ticket       text NOT NULL,
    nodes_before text NOT NULL,
    nodes_after  text NOT NULL,
    nodes_gone   text NOT NULL,
    floor        bigint NOT NULL,
    state        text NOT NULL CHECK (state IN ('planned', 'limited', 'stepped', 'done')),
    planned_at   timestamptz NOT NULL DEFAULT now(),
    planned_by   text NOT NULL,
    since        timestamptz NOT NULL DEFAULT now()
);

CREATE UNIQUE INDEX ticket_change_standing ON shardid.ticket_change (ticket) WHERE state <> 'done';

COMMENT ON TABLE shardid.ticket_node IS 'shardid: which server a ticket node is, and the mark left there to know it again by';
COMMENT ON TABLE shardid.ticket_server IS 'shardid: the servers of each ticket, and how far they were at the last two looks';
COMMENT ON COLUMN shardid.ticket_server.last_number IS 'the highest number known to have been handed out there';
COMMENT ON TABLE shardid.ticket_change IS 'shardid: the journal of changes of the servers of tickets';
COMMENT ON COLUMN shardid.ticket_change.floor IS 'numbers of the old servers are at or below it, those of the new ones above';

REVOKE ALL ON shardid.ticket_node, shardid.ticket_server, shardid.ticket_change FROM PUBLIC;
GRANT SELECT ON shardid.ticket_node, shardid.ticket_server, shardid.ticket_change TO PUBLIC;
