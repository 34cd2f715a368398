-- Ends what earlier programs have under way here for a shard ($1): those with a term below $2.
SELECT pg_terminate_backend(pid)
  FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
   AND application_name ~ format('^shardid move: shard %s, term [0-9]+$', $1::integer)
   AND substring(application_name FROM '[0-9]+$')::bigint < $2::bigint
