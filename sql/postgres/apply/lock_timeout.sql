-- How long this transaction waits for a lock; $1 as in '60s'.
SELECT set_config('lock_timeout', $1, true)
