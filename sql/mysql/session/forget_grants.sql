-- They are given again. What is of a routine that is not there just now is kept until it is.
DELETE FROM shardid.kept_grant
WHERE EXISTS (SELECT 1 FROM information_schema.routines r
              WHERE r.routine_schema = 'shardid' AND r.routine_type = kept_grant.routine_type
                AND lower(r.routine_name) = lower(kept_grant.routine))
