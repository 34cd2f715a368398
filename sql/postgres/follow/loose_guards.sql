-- Tables of the copy that follows by a stream ($1) and have lost their guards, or have a trigger that keeps rows from them: each, and that
-- trigger.
SELECT shardid.loose_guards($1) AS loose
