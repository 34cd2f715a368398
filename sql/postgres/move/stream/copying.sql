-- How far a subscription's copy is: tables in all, those copied, and those that
-- are also at one moment with all others (a copied one may be ahead of what the
-- stream has applied); how often it has failed, and whether it is enabled; and a table of the copy's schema ($2) that is none of
-- the subscription's: to it no row comes.
SELECT count(r.srrelid) AS tables,
       count(r.srrelid) FILTER (WHERE r.srsubstate IN ('r', 's')) AS copied,
       count(r.srrelid) FILTER (WHERE r.srsubstate = 'r') AS ready,
       coalesce((SELECT t.sync_error_count + t.apply_error_count
                   FROM pg_stat_subscription_stats t WHERE t.subid = s.oid), 0)::bigint AS errors,
       s.subenabled AS enabled,
       (SELECT min(c.relname)::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = $2 AND c.relkind = 'r' AND c.relpersistence = 'p'
           AND NOT EXISTS (SELECT FROM pg_subscription_rel x WHERE x.srsubid = s.oid AND x.srrelid = c.oid)) AS left_out
  FROM pg_subscription s
  JOIN pg_database d ON d.oid = s.subdbid AND d.datname = current_database()
  LEFT JOIN pg_subscription_rel r ON r.srsubid = s.oid
 WHERE s.subname = $1
 GROUP BY s.oid, s.subenabled
