-- They are given again.
DELETE FROM shardid.kept_grant WHERE user IS NOT NULL
