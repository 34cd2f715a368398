-- Makes of a shard ($1) an old copy: it says that the shard lives on node $2 since version $3
-- of the map. Its triggers go on refusing, and let through what it follows the new copy by.
-- What that node was when it had all rows, server ($5), timeline ($6), database ($7) and position ($8), and
-- how the sequences were before they come to their end, is noted with the publication ($4) by the same
-- transaction: where the catalog is lost before the node is opened, nobody else knows it.
SELECT format(
           'UPDATE shardid.shard SET state = ''moved'', node = %L, map_version = %s WHERE shard = %s AND (state, node) IS DISTINCT FROM (''moved'', %L)',
           $2::text, $3::bigint, $1::integer, $2::text) AS statement
UNION ALL
SELECT format('COMMENT ON PUBLICATION %I IS %L', p.pubname,
              jsonb_build_object('server', $5::bigint, 'timeline', $6::bigint, 'database', $7::bigint, 'position', $8::bigint,
                                 'sequences', coalesce(member.sequences, '[]'))::text)
  FROM pg_publication p
 CROSS JOIN LATERAL (
           SELECT jsonb_agg(jsonb_build_object('name', c.relname, 'at', format('%s/%s/%s', (SELECT system_identifier FROM pg_control_system()), (SELECT oid FROM pg_database WHERE datname = current_database()), c.oid), 'type', q.seqtypid::regtype, 'increment', q.seqincrement,
                                               'min', q.seqmin, 'max', q.seqmax, 'start', q.seqstart, 'cache', q.seqcache,
                                               'cycle', q.seqcycle) ORDER BY c.relname) AS sequences
             FROM pg_publication_namespace n
             JOIN pg_class c ON c.relnamespace = n.pnnspid
             JOIN pg_sequence q ON q.seqrelid = c.oid
            WHERE n.pnpubid = p.oid) AS member
 WHERE p.pubname = $4 AND $5 IS NOT NULL
   AND NOT EXISTS (SELECT FROM shardid.shard s WHERE s.shard = $1 AND s.state = 'moved' AND s.node = $2)
