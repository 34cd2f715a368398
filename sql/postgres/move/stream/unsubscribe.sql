-- Ends a subscription without a word to the other server, which may be down, or
-- behind a network that says nothing. While a table is not copied yet, DROP connects
-- to it even without a slot, to look for those that the copy has made, and waits for
-- as long as the other side does; so it is given a way that leads nowhere. Its slots
-- there are removed by us. The password is for a role that must have one. A role that the subscription
-- was made for goes next.
SELECT statement
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database(),
       unnest(ARRAY[
           format('ALTER SUBSCRIPTION %I DISABLE', s.subname),
           format('ALTER SUBSCRIPTION %I SET (slot_name = NONE)', s.subname),
           format('ALTER SUBSCRIPTION %I CONNECTION %L', s.subname, 'host=/nowhere password=none'),
           format('DROP SUBSCRIPTION %I', s.subname)]) WITH ORDINALITY AS t(statement, n)
 WHERE s.subname = $1
 ORDER BY n
