-- Has further moves get numbers above $1.
SELECT setval(numbers, $1)
  FROM CAST(pg_get_serial_sequence('shardid.move', 'move') AS regclass) AS numbers
 WHERE coalesce(pg_sequence_last_value(numbers), 0) < $1
