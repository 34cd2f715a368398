-- A table of a copy that follows and has lost its guards, or the trigger of it that keeps rows from them.
SELECT shardid.loose_guard() AS loose
