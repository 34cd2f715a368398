-- Up to which position of the node that it copies a subscription ($1) here has got, with each of its tables, as far as
-- that is for us to know. No row where it is gone.
SELECT CASE WHEN has_function_privilege('pg_replication_origin_progress(text, boolean)', 'EXECUTE')
            THEN (SELECT pg_wal_lsn_diff(max(far.position), '0/0')::bigint
                    FROM (SELECT pg_replication_origin_progress(o.roname, true) AS position
                            FROM pg_replication_origin o WHERE o.roname ~ format('^pg_%s(_[0-9]+)?$', s.oid)
                           UNION ALL
                          SELECT r.srsublsn FROM pg_subscription_rel r WHERE r.srsubid = s.oid) AS far)
       END AS reached
  FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
 WHERE s.subname = $1
