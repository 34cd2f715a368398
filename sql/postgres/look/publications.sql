-- What moves publish from this database.
SELECT p.pubname::text FROM pg_publication p WHERE p.pubname ~ '^shardid_(move|back)_[0-9]+$' ORDER BY 1
