-- Writes a record of no meaning, so that a reader has something to acknowledge.
SELECT pg_logical_emit_message(false, 'shardid', '')::text
