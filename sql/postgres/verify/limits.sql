-- Looking at data takes at most so many milliseconds ($1); locks are not waited for.
SELECT set_config('statement_timeout', $1, true),
       set_config('lock_timeout', '5s', true)
