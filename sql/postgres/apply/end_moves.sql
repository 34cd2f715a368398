-- Ends what programs that move shards have under way here by a term below $1.
SELECT pg_terminate_backend(pid)
  FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
   -- Anybody may have a session of any name, with a number that is none.
   AND CASE WHEN application_name ~ '^shardid move: shard [0-9]+, term [0-9]{1,18}$'
            THEN substring(application_name FROM '[0-9]+$')::bigint < $1::bigint ELSE false END
