-- Lets a session look and change nothing, and wait for nobody's lock for long.
SELECT set_config('default_transaction_read_only', 'on', false),
       set_config('lock_timeout', '10s', false)
