-- Makes room for the new servers of a ticket.
DELETE FROM shardid.ticket_server WHERE ticket = ?
