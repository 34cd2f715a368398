-- Only one session changes the tickets of a server at a time: whoever is to change them waits
-- for what is under way there.
SELECT pg_try_advisory_lock(32484390062025061) AS got_it
