-- As which role a session is.
SELECT current_user::text
