-- What the settings of a server, a database or a role say is not to keep a program from what it
-- was asked to do, nor end it half-way, nor have its statements mean something else.
SELECT set_config(v.name, v.value, false)
  FROM (VALUES
      ('default_transaction_read_only', 'off'),
      ('default_transaction_isolation', 'read committed'),
      ('default_transaction_deferrable', 'off'),
      ('standard_conforming_strings', 'on'),
      ('transaction_timeout', '0'),
      ('idle_in_transaction_session_timeout', '0'),
      ('idle_session_timeout', '0')) AS v(name, value)
  JOIN pg_settings s ON s.name = v.name
