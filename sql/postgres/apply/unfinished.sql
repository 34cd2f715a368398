-- The unfinished moves of a catalog that is about a cluster ($1).
SELECT move FROM shardid.move
 WHERE state NOT IN ('done', 'aborted') AND EXISTS (SELECT FROM shardid.catalog WHERE cluster = $1)
 ORDER BY move
