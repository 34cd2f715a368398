-- Takes a move ($1) from a state ($2) to the next ($3); no row where somebody
-- else has moved it on, or another program than that of term $4 works on it.
WITH moved AS (
    UPDATE shardid.move SET state = $3, state_since = clock_timestamp()
     WHERE move = $1 AND state = $2 AND term = $4
    RETURNING move, state
), logged AS (
    INSERT INTO shardid.move_log (move, state) SELECT move, state FROM moved
)
SELECT move FROM moved
