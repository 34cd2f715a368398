-- Only one program works on a move at a time; the lock goes with the session.
SELECT pg_try_advisory_lock(324843900, $1) AS got_it
