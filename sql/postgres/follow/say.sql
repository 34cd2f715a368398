-- Tells the next statement of this transaction what ($1, $2) it is about: a statement that
-- holds no secret can be shown by pg_stat_activity.
SELECT set_config('shardid_follow.' || name, value, true) FROM unnest($1::text[], $2::text[]) AS said(name, value)
