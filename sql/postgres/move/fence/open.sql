-- Opens a shard ($1) in a schema ($2) on this node ($3) as of a version ($4);
-- $5 is the name of its sequence, and $6, $7, $8 are schemas, names and layouts
-- of its id sequences. Where the node was never told of the shard, it has no row yet:
-- $9 is the layout and $10 the cluster. $11 and $12 are the layouts of id sequences, and
-- what ids of those that were dropped are not above. Whoever uses a copy
-- does not keep the shard closed: its tables are not touched.
SELECT statement FROM (
    SELECT 2 AS step, format(
               'INSERT INTO shardid.shard AS s (shard, layout, sequence, state, cluster, node, map_version, system_identifier, database) SELECT %s, %L, %L, ''open'', %L, %L, %s, system_identifier, current_database() FROM pg_control_system() ON CONFLICT ON CONSTRAINT shard_pkey DO UPDATE SET state = ''open'', sequence = EXCLUDED.sequence, cluster = EXCLUDED.cluster, node = EXCLUDED.node, map_version = EXCLUDED.map_version, system_identifier = EXCLUDED.system_identifier, database = EXCLUDED.database WHERE s.state <> ''open''',
               $1::integer, $9::text, format('%I.%I', $2::text, $5::text), $10::text, $3::text, $4::bigint) AS statement
    UNION ALL
    SELECT 3, format(
               'INSERT INTO shardid.id_sequence (sequence, shard, layout) VALUES (%L, %s, %L) ON CONFLICT (sequence) DO NOTHING',
               format('%I.%I', s.schema, s.sequence), $1::integer, s.layout)
      FROM unnest($6::text[], $7::text[], $8::text[]) AS s(schema, sequence, layout)
    UNION ALL
    SELECT 4, format(
               'INSERT INTO shardid.dropped_id_sequence AS d (shard, layout, floor) VALUES (%s, %L, %L) ON CONFLICT (shard, layout) DO UPDATE SET floor = greatest(d.floor, EXCLUDED.floor)',
               $1::integer, s.layout, s.floor)
      FROM unnest($11::text[], $12::bigint[]) AS s(layout, floor)
) AS steps
 ORDER BY step
