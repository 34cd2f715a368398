-- Has a catalog that is about a cluster ($1) know no map any more, as one that is lost:
-- another one takes over from it.
WITH closed AS (
    UPDATE shardid.catalog SET cluster = NULL, layout = NULL, shards = NULL, map_version = 0
     WHERE cluster = $1
    RETURNING only_one
)
DELETE FROM shardid.map USING closed
