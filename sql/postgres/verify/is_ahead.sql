-- Whether an id ($1) of a layout ($2) is of a time further ahead of this server's clock than shardid.max_drift, its default where the
-- library is not loaded; and whether it is more than a day ahead.
SELECT coalesce(t.time > clock_timestamp() + coalesce(nullif(current_setting('shardid.max_drift', true), ''), '10s')::interval, false) AS is_beyond_drift,
       coalesce(t.time > clock_timestamp() + interval '1 day', false) AS is_beyond_a_day
  FROM (SELECT 1) AS one
  LEFT JOIN (SELECT l.epoch + l.tick * ($1::bigint / l.slots / l.shards) AS time FROM shardid.layout l WHERE l.name = $2) AS t ON true
