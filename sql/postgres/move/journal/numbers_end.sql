-- Whether the next move gets a number above $1.
SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('shardid.move', 'move')::regclass), 0) >= $1
