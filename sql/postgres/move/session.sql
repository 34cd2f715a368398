-- A session of a move: names outside pg_catalog are written out, as in what
-- pg_dump prints; rows read the same on every server; nothing that a role's
-- settings bound is bound, and what waits for a lock is, by ourselves; what is
-- committed is on disk; and a program that has vanished behind a broken network
-- does not keep its locks for hours.
SELECT set_config(v.name, v.value, false)
  FROM (VALUES
      ('search_path', 'pg_catalog'),
      ('intervalstyle', 'postgres'),
      ('bytea_output', 'hex'),
      ('lc_monetary', 'C'),
      ('extra_float_digits', '3'),
      ('statement_timeout', '0'),
      ('lock_timeout', '60s'),
      ('tcp_keepalives_idle', '15'),
      ('tcp_keepalives_interval', '5'),
      ('tcp_keepalives_count', '3')) AS v(name, value)
  JOIN pg_settings s ON s.name = v.name
UNION ALL
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
