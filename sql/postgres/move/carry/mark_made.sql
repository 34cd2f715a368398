-- A statement that leaves a word on a subscription ($1), if it is there.
SELECT format('COMMENT ON SUBSCRIPTION %I IS %L', subname, 'shardid: all is made') AS statement
  FROM pg_subscription
 WHERE subname = $1 AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
