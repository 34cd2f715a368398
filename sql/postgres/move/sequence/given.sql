-- The generators in a schema ($1): their sequences, the highest ids that they can have given
-- out, and their layouts. To be asked before they are held: that gives each a new file, of
-- whose past nothing is known, and where a sequence stands tells nothing of one that was
-- restarted, put back, or lost the last of its WAL.
SELECT c.oid, shardid.last_id_at_most(c.oid::regclass, g.shard::bigint, g.layout) AS last, g.layout
  FROM (SELECT sequence, shard, layout FROM shardid.shard
        UNION ALL SELECT sequence, shard, layout FROM shardid.id_sequence) AS g
  JOIN pg_class c ON c.oid = g.sequence
  JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = $1
