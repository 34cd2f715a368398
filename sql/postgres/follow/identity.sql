-- Which database this is, after which its role at others is named.
SELECT (SELECT system_identifier FROM pg_control_system()) AS system_identifier, current_database()::text AS database
