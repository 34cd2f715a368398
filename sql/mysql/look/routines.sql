-- The routines, triggers and views there are, by kind and name. A dump makes views of nothing first, and
-- puts the right ones in their place at its end.
SELECT lower(concat(r.routine_type, ' ', r.routine_name)) AS routine
FROM information_schema.routines r WHERE r.routine_schema = 'shardid'
UNION ALL
SELECT lower(concat('trigger ', t.trigger_name))
FROM information_schema.triggers t WHERE t.trigger_schema = 'shardid'
UNION ALL
SELECT lower(concat('view ', v.table_name))
FROM information_schema.views v WHERE v.table_schema = 'shardid' AND v.view_definition LIKE '%from%'
