-- One server of a ticket.
INSERT INTO shardid.ticket_server (ticket, server, node, last_number, last_us, before_number, before_us)
VALUES ($1, $2, $3, $4, $5, $6, $7)
