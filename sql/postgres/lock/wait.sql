-- Waits for the lock of lock/try.sql, for as long as lock_timeout says.
SELECT pg_advisory_lock(32484390062025060)
