-- Has this transaction leave no word of its statements behind: not in the log, by whatever
-- setting or module, nor in pg_stat_statements. No statement takes longer than $1 milliseconds.
SELECT set_config(s.name, v.value, true)
  FROM (VALUES
      ('statement_timeout', $1),
      ('log_min_messages', 'panic'),
      ('log_min_error_statement', 'panic'),
      ('client_min_messages', 'error'),
      ('pg_stat_statements.track', 'none'),
      ('pg_stat_statements.track_utility', 'off')) AS v(name, value)
  JOIN pg_settings s ON s.name = v.name
