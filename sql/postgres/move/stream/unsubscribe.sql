-- Ends a subscription without a word to the other server, which may be down.
SELECT statement
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database(),
       unnest(ARRAY[
           format('ALTER SUBSCRIPTION %I DISABLE', s.subname),
           format('ALTER SUBSCRIPTION %I SET (slot_name = NONE)', s.subname),
           format('DROP SUBSCRIPTION %I', s.subname)]) WITH ORDINALITY AS t(statement, n)
 WHERE s.subname = $1
 ORDER BY n
