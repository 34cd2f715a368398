-- How many milliseconds ($1) a statement of this session may wait for a lock.
SELECT set_config('lock_timeout', $1, false)
