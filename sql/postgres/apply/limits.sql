-- A change waits for others for as long as $1 says, and may take its time itself; what is committed is on disk.
SELECT set_config('lock_timeout', $1, false),
       set_config('statement_timeout', '0', false),
       CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END
