-- Puts a subscription ($1) to work, unless it is.
SELECT format('ALTER SUBSCRIPTION %I ENABLE', s.subname) AS statement
  FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
 WHERE s.subname = $1 AND d.datname = current_database() AND NOT s.subenabled
