-- The bodies of routines and triggers, by kind and name, as far as the caller may read them.
SELECT CAST(lower(concat(r.routine_type, ' ', r.routine_name)) AS CHAR) AS routine, CAST(r.routine_definition AS CHAR) AS body
FROM information_schema.routines r WHERE r.routine_schema = 'shardid' AND r.routine_definition <> ''
UNION ALL
SELECT CAST(lower(concat('trigger ', t.trigger_name)) AS CHAR), CAST(t.action_statement AS CHAR)
FROM information_schema.triggers t WHERE t.trigger_schema = 'shardid' AND t.action_statement <> ''
