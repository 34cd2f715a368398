-- Where the catalog's map has a shard.
SELECT m.node, c.map_version
  FROM shardid.catalog c
  LEFT JOIN shardid.map m ON m.shard = $1
