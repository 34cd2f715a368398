-- Whether routines, triggers or views of schema shardid run with the rights of this user.
SELECT EXISTS (SELECT 1 FROM information_schema.routines r WHERE r.routine_schema = 'shardid' AND r.definer = current_user())
    OR EXISTS (SELECT 1 FROM information_schema.triggers t WHERE t.trigger_schema = 'shardid' AND t.definer = current_user())
    OR EXISTS (SELECT 1 FROM information_schema.views v WHERE v.table_schema = 'shardid' AND v.definer = current_user()) AS made
