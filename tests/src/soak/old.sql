-- Ids by the page code of version 0.1.0; LIBRARY is its file.
CREATE FUNCTION old_next_ids(shard int, count int) RETURNS SETOF bigint
LANGUAGE c VOLATILE STRICT AS 'LIBRARY', 'old_next_ids';
