-- How many tickets, shards and tags are of another server than this one.
SELECT (SELECT count(*) FROM shardid.ticket t WHERE NOT t.home <=> shardid.here())
     + (SELECT count(*) FROM shardid.shard s WHERE NOT s.home <=> shardid.here())
     + (SELECT count(*) FROM shardid.segment s WHERE NOT s.home <=> shardid.here()) > 0 AS elsewhere
