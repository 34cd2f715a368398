-- The shards that are open or behind a fence, with the version of the map by which they were
-- opened or placed here, 0 where nobody has; whether they are open; and what puts the schema of
-- each out of the way under a free name, unless another shard is open in it.
SELECT s.shard, s.state = 'open', coalesce(s.map_version, 0),
       CASE WHEN NOT EXISTS (SELECT FROM shardid.shard o JOIN pg_class c ON c.oid = o.sequence
                              WHERE c.relnamespace = n.oid AND o.shard <> s.shard AND o.state IN ('open', 'fenced'))
            THEN (SELECT format(' ALTER SCHEMA %I RENAME TO %I;', n.nspname, free.name)
                    FROM (SELECT left(n.nspname, 48) || '_left' || CASE i WHEN 1 THEN '' ELSE '_' || i END AS name, i
                            FROM generate_series(1, 1000) AS i) AS free
                   WHERE NOT EXISTS (SELECT FROM pg_namespace o WHERE o.nspname = free.name)
                   ORDER BY i LIMIT 1) END
  FROM shardid.shard s
  LEFT JOIN pg_class q ON q.oid = s.sequence
  LEFT JOIN pg_namespace n ON n.oid = q.relnamespace
 WHERE s.state IN ('open', 'fenced')
