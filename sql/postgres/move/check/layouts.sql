-- The layouts that a shard ($1) uses, by name and what they are.
SELECT l.name::text AS name, concat_ws(', ', extract(epoch FROM l.epoch), extract(epoch FROM l.tick), l.ticks, l.shards, l.slots) AS rule,
       -- With all arguments and their types: no function that somebody has made beside ours fits it better.
       format('SELECT %I.create_layout(%L::pg_catalog.text, %L::pg_catalog.timestamptz, %L::pg_catalog.interval, %s::pg_catalog.int8, %s::pg_catalog.int8, %s::pg_catalog.int8, false);', e.extnamespace::regnamespace, l.name, l.epoch, l.tick, l.shards, l.slots, l.ticks) AS hint
  FROM shardid.layout l JOIN pg_extension e ON e.extname = 'shardid'
 WHERE l.name IN (SELECT layout FROM shardid.id_sequence WHERE shard = $1
                  UNION SELECT layout FROM shardid.shard WHERE shard = $1)
