-- All routines are there: what is left is of none that this version has.
DELETE FROM shardid.kept_grant WHERE user IS NOT NULL
