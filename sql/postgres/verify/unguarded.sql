-- A row where reading tables would run code of those who own them with a superuser's rights.
SELECT 1 AS one FROM pg_roles
 WHERE rolname = current_user AND rolsuper
   AND coalesce(current_setting('shardid.functions_run_as_owner', true), 'off') <> 'on'
