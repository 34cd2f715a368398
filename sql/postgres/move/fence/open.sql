-- Opens a shard ($1) in a schema ($2) on this node ($3) as of a version ($4);
-- $5 is the name of its sequence, and $6, $7, $8 are schemas, names and layouts
-- of its id sequences. Where the node was never told of the shard, it has no row yet:
-- $9 is the layout and $10 the cluster. $11 and $12 are the layouts of id sequences, and
-- what ids of those that were dropped are not above. Whoever uses a copy
-- does not keep the shard closed: its tables are not touched. A row that is there is taken for one of a dump
-- where it is inserted once more.
SELECT statement FROM (
    -- Where it is not there, nothing is opened.
    SELECT 1 AS step, format('SELECT %L::pg_catalog.regclass', format('%I.%I', $2::text, $5::text)) AS statement
    UNION ALL
    SELECT 2, format(
               'UPDATE shardid.shard SET state = ''open'', sequence = %2$L, cluster = %4$L, node = %5$L, map_version = %6$s, system_identifier = (SELECT system_identifier FROM pg_control_system()), database = current_database() WHERE shard = %1$s AND state <> ''open''; '
               'INSERT INTO shardid.shard (shard, layout, sequence, state, cluster, node, map_version, system_identifier, database) SELECT %1$s, %3$L, %2$L, ''open'', %4$L, %5$L, %6$s, system_identifier, current_database() FROM pg_control_system() WHERE NOT EXISTS (SELECT FROM shardid.shard WHERE shard = %1$s)',
               $1::integer, format('%I.%I', $2::text, $5::text), $9::text, $10::text, $3::text, $4::bigint)
    UNION ALL
    SELECT 3, format(
               'INSERT INTO shardid.id_sequence (sequence, shard, layout) SELECT %1$L, %2$s, %3$L WHERE NOT EXISTS (SELECT FROM shardid.id_sequence WHERE sequence::oid = %1$L::regclass::oid)',
               format('%I.%I', s.schema, s.sequence), $1::integer, s.layout)
      FROM unnest($6::text[], $7::text[], $8::text[]) AS s(schema, sequence, layout)
     -- One that its owner has dropped here is no reason to open nothing.
     WHERE to_regclass(format('%I.%I', s.schema, s.sequence)) IS NOT NULL
    UNION ALL
    SELECT 4, format(
               'INSERT INTO shardid.dropped_id_sequence (shard, layout) SELECT %1$s, %2$L WHERE NOT EXISTS (SELECT FROM shardid.dropped_id_sequence WHERE (shard, layout) = (%1$s, %2$L)); '
               'UPDATE shardid.dropped_id_sequence SET floor = greatest(floor, %3$L) WHERE (shard, layout) = (%1$s, %2$L)',
               $1::integer, s.layout, s.floor)
      FROM unnest($11::text[], $12::bigint[]) AS s(layout, floor)
) AS steps
 ORDER BY step
