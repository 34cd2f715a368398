-- Only one session changes the tickets of a server at a time: whoever is to change them waits
-- for what is under way there.
SELECT coalesce(get_lock('shardid.tickets', 0), 0) = 1 AS got_it
