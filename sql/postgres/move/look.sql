-- Lets a session look and change nothing.
SELECT set_config('default_transaction_read_only', 'on', false)
