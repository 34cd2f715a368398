-- Has the horizon be as far ahead of the clock as ids of a shard ($1) of a layout ($2) can have gone on a node that does
-- not tell any more: by the settings, and by the largest drift that was used here. What goes on above it begins beyond.
-- So does an id sequence that is made from now on, which may be one that was made there.
SELECT statement
  FROM (VALUES
           (1, 'SELECT shardid.note_restored(NULL::oid)'),
           (2, 'SELECT shardid.raise_horizon(shardid.id_at(clock_timestamp() + make_interval(secs => (d.last_value + 1) / 1000.0), ''instagram''), ''instagram'') FROM shardid.largest_drift d'),
           (3, format('INSERT INTO shardid.dropped_id_sequence AS d (shard, layout, floor) SELECT %s, l.name, shardid.last_id_at_most(NULL::regclass, %s, l.name) FROM shardid.layout l WHERE %s < l.shards AND l.name IN (SELECT %L UNION SELECT s.layout FROM shardid.shard s UNION SELECT i.layout FROM shardid.id_sequence i) ON CONFLICT (shard, layout) DO UPDATE SET floor = greatest(d.floor, EXCLUDED.floor)',
                      $1::integer, $1::integer, $1::integer, $2::text))) AS steps (step, statement)
 ORDER BY step
