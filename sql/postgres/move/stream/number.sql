-- The number of a subscription, by which its copying slots are named.
SELECT s.oid::bigint AS number FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
 WHERE s.subname = $1
