-- What this server will be known again by.
WITH known AS (
    UPDATE shardid.server SET mark = $1, marked_at = clock_timestamp() RETURNING id
)
INSERT INTO shardid.server (mark, marked_at)
SELECT $1, clock_timestamp() WHERE NOT EXISTS (SELECT FROM known)
