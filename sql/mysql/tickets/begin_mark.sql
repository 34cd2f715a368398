-- Which server a node is, and the mark that is about to be left there: written
-- before, so that a cut in between does not look like a backup.
INSERT INTO shardid.ticket_node (node, identity, next_mark) VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE next_mark = VALUES(next_mark)
