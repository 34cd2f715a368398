-- Drops a copy ($1) with all that is in it.
SELECT format('DROP SCHEMA %I CASCADE', nspname) AS statement FROM pg_namespace WHERE nspname = $1
