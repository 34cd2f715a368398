-- Ends what programs that move shards have under way here by a term below $1.
SELECT pg_terminate_backend(pid)
  FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
   AND application_name ~ '^shardid move: shard [0-9]+, term [0-9]+$'
   AND substring(application_name FROM '[0-9]+$')::bigint < $1::bigint
