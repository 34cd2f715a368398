-- How many milliseconds ($1) a statement of this session may take; 0: any.
SELECT set_config('statement_timeout', $1, false)
