-- Tickets of this server whose sequence is gone.
SELECT name FROM shardid.ticket t
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_sequence s WHERE s.seqrelid = t.sequence) ORDER BY name
