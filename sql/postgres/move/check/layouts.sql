-- The layouts that a shard ($1) uses, by name and what they are.
SELECT l.name::text AS name, concat_ws(', ', extract(epoch FROM l.epoch), extract(epoch FROM l.tick), l.ticks, l.shards, l.slots) AS rule,
       format('SELECT create_layout(%L, %L, %L, %s, %s, %s);', l.name, l.epoch, l.tick, l.shards, l.slots, l.ticks) AS hint
  FROM shardid.layout l
 WHERE l.name IN (SELECT layout FROM shardid.id_sequence WHERE shard = $1
                  UNION SELECT layout FROM shardid.shard WHERE shard = $1)
