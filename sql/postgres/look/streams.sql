-- The streams by which this database follows others: the way in of each, and whether what
-- comes is applied with the rights of a role that has next to none: the subscription's owner, and from 16 on not the
-- tables' owners.
SELECT s.subname::text AS name, s.subconninfo AS way_in,
       NOT (SELECT rolsuper FROM pg_roles r WHERE r.oid = s.subowner)
           AND coalesce(to_jsonb(s) ->> 'subrunasowner', 'true') = 'true' AS bounded
  FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
 WHERE s.subname ~ '^shardid_(move|back)_[0-9]+$'
