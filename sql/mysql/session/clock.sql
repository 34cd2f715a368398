-- What the server's clock reads, in microseconds since 1970: utc_timestamp() does not follow a session's time zone.
SELECT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))
