-- A look that takes longer than this is not worth waiting for.
SELECT set_config('statement_timeout', '20s', true),
       set_config('lock_timeout', '5s', true)
