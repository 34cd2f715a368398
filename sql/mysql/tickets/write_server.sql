-- One server of a ticket.
INSERT INTO shardid.ticket_server (ticket, server, node, last_number, last_us, before_number, before_us)
VALUES (?, ?, ?, ?, ?, ?, ?)
