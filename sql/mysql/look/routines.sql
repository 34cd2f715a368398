-- The routines and triggers there are, by kind and name.
SELECT lower(concat(r.routine_type, ' ', r.routine_name)) AS routine
FROM information_schema.routines r WHERE r.routine_schema = 'shardid'
UNION ALL
SELECT lower(concat('trigger ', t.trigger_name))
FROM information_schema.triggers t WHERE t.trigger_schema = 'shardid'
