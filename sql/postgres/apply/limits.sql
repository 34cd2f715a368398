-- A change waits for others for as long as $1 says, and may take its time itself.
SELECT set_config('lock_timeout', $1, false),
       set_config('statement_timeout', '0', false)
