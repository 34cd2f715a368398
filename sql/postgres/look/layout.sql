-- A layout by its name; times in microseconds.
SELECT (extract(epoch FROM epoch) * 1000000)::bigint AS epoch_us,
       (extract(epoch FROM tick) * 1000000)::bigint  AS tick_us,
       ticks,
       shards,
       slots
  FROM shardid.layout
 WHERE name = $1
