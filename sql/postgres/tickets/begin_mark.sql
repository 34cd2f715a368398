-- Which server a node is, and the mark that is about to be left there: written
-- before, so that a cut in between does not look like a backup.
INSERT INTO shardid.ticket_node (node, identity, next_mark) VALUES ($1, $2, $3)
ON CONFLICT (node) DO UPDATE SET next_mark = excluded.next_mark
