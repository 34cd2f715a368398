-- Whether an id ($1) of a layout ($2) is of a time more than a day ahead of this server's clock.
SELECT coalesce((SELECT l.epoch + l.tick * ($1::bigint / l.slots / l.shards) > clock_timestamp() + interval '1 day'
                   FROM shardid.layout l WHERE l.name = $2), false)
