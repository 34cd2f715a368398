-- Only one program works on the moves of a shard ($1) at a time; the lock goes with
-- the session. Where it was lost, the term of the move decides.
SELECT pg_try_advisory_lock(324843900, $1) AS got_it
