-- The layouts of the id sequences of a shard ($1), and what ids of those that were dropped are
-- not above: for one of which that is not known, as far as any can have gone here. Where event
-- triggers are off, or a transaction did not see the row, it is there still. Of a layout that is
-- not here, or has no such shard, nothing was given out.
SELECT remembered.layout, max(greatest(remembered.floor, CASE WHEN remembered.lost THEN shardid.last_id_at_most(NULL::regclass, $1::bigint, remembered.layout) END)) AS floor
  FROM (SELECT d.layout, d.floor, d.lost
          FROM shardid.dropped_id_sequence d
         WHERE d.shard = $1
         UNION ALL
        SELECT s.layout, NULL, NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = s.sequence)
          FROM shardid.id_sequence s
         WHERE s.shard = $1) AS remembered (layout, floor, lost)
  JOIN shardid.layout l ON l.name = remembered.layout AND $1 < l.shards
 GROUP BY remembered.layout
