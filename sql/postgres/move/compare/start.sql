-- Since when this server runs: one that was restored or replaced by its standby begins anew.
SELECT pg_postmaster_start_time()::text
