-- The routines there are, by kind and name.
SELECT lower(concat(r.routine_type, ' ', r.routine_name)) AS routine
FROM information_schema.routines r WHERE r.routine_schema = 'shardid'
