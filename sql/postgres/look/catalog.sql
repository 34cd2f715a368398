-- Which cluster this catalog is about.
SELECT cluster, layout, shards::bigint AS shards, map_version, program FROM shardid.catalog
