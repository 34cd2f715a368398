-- Writes a record of no meaning with a transaction of its own, so that
-- everything committed before it is on disk, whatever synchronous_commit was.
SELECT pg_logical_emit_message(true, 'shardid', '')::text
