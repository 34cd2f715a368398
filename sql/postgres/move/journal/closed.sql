-- The node that this one has sent a shard ($1) to by a move, and publishes it still, with the schema here.
SELECT s.node, n.nspname::text AS schema
  FROM shardid.shard s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE s.shard = $1 AND s.state = 'moved'
   AND EXISTS (SELECT FROM pg_publication_namespace pn JOIN pg_publication p ON p.oid = pn.pnpubid
                WHERE pn.pnnspid = n.oid AND p.pubname ~ '^shardid_(move|back)_[0-9]+$')
