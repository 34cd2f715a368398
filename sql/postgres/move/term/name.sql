-- Says in pg_stat_activity which shard ($1) this session works on, and by which term ($2).
SELECT set_config('application_name', format('shardid move: shard %s, term %s', $1::integer, $2::bigint), false)
