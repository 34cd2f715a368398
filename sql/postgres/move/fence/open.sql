-- Opens a shard ($1) in a schema ($2) on this node ($3) as of a version ($4);
-- $5 is the name of its sequence, and $6, $7, $8 are schemas, names and layouts
-- of its id sequences.
SELECT statement FROM (
    SELECT 1 AS step, c.oid,
           format('DROP TRIGGER shardid_fence ON %I.%I', n.nspname, c.relname) AS statement
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgname = 'shardid_fence' AND t.tgparentid = 0
     WHERE n.nspname = $2
    UNION ALL
    SELECT 2, 0, format(
               'UPDATE shardid.shard SET state = ''open'', sequence = %L, node = %L, map_version = %s, system_identifier = (SELECT system_identifier FROM pg_control_system()), database = current_database() WHERE shard = %s AND state <> ''open''',
               format('%I.%I', $2::text, $5::text), $3::text, $4::bigint, $1::integer)
    UNION ALL
    SELECT 3, 0, format(
               'INSERT INTO shardid.id_sequence (sequence, shard, layout) VALUES (%L, %s, %L) ON CONFLICT (sequence) DO NOTHING',
               format('%I.%I', s.schema, s.sequence), $1::integer, s.layout)
      FROM unnest($6::text[], $7::text[], $8::text[]) AS s(schema, sequence, layout)
) AS steps
 ORDER BY step, oid
