-- The last id that a sequence ($1) has given out; NULL where it is not known.
SELECT pg_sequence_last_value($1::text::regclass)
