-- Ends what earlier programs have under way here for a shard ($1): those with a term below $2.
SELECT pg_terminate_backend(pid)
  FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
   -- Anybody may have a session of any name, with a number that is none.
   AND CASE WHEN application_name ~ format('^shardid move: shard %s, term [0-9]{1,18}$', $1::integer)
            THEN substring(application_name FROM '[0-9]+$')::bigint < $2::bigint ELSE false END
