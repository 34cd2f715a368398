-- Whether we may see and change what is about roles and secrets.
SELECT rolsuper FROM pg_roles WHERE rolname = current_user
