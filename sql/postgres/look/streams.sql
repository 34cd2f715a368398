-- The streams by which this database follows others: the way in of each, and whether what
-- comes is applied with the rights that the owners of the tables have. Up to 15 the
-- subscription's owner applies it.
SELECT s.subname::text AS name, s.subconninfo AS way_in,
       CASE WHEN current_setting('server_version_num')::integer >= 160000
            THEN to_jsonb(s) ->> 'subrunasowner' = 'false'
            ELSE NOT (SELECT rolsuper FROM pg_roles r WHERE r.oid = s.subowner) END AS bounded
  FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
 WHERE s.subname ~ '^shardid_(move|back)_[0-9]+$'
