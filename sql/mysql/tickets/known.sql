-- The tickets that the catalog knows, with how far each server was.
SELECT ticket, server, node, last_number, last_us, before_number, before_us
FROM shardid.ticket_server ORDER BY ticket, server
