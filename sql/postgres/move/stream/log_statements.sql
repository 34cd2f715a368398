-- Whether the server's log shows a statement that fails ($1: from which level on).
SELECT set_config('log_min_error_statement', $1, false)
