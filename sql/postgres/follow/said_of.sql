-- The same, with the way in that a subscription ($1) has already; it stays in the server.
SELECT set_config('shardid_follow.way_in', s.subconninfo, true) IS NOT NULL AS known
  FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
 WHERE s.subname = $1
