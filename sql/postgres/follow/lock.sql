-- One at a time finds out or changes by which secret this node follows others.
SELECT pg_advisory_xact_lock(hashtextextended('shardid: how this node follows others', 0))
