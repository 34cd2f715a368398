-- Looking at data takes as long as it takes, within reason; locks are not waited for.
SELECT set_config('statement_timeout', '10min', true),
       set_config('lock_timeout', '5s', true)
