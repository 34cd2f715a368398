-- The schema of a shard ($1) that this node has sent to another one ($2), and publishes still, and the publication.
SELECT n.nspname::text AS schema, p.pubname::text AS stream
  FROM shardid.shard s
  JOIN pg_class c ON c.oid = s.sequence
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_publication_namespace pn ON pn.pnnspid = n.oid
  JOIN pg_publication p ON p.oid = pn.pnpubid
 WHERE s.shard = $1 AND s.state = 'moved' AND s.node = $2 AND p.pubname ~ '^shardid_(move|back)_[0-9]+$'
