-- Whether grants on routines were written down, and are not given again yet.
SELECT count(*) > 0 AS kept FROM shardid.kept_grant
