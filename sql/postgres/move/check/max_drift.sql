-- shardid.max_drift in microseconds; its default where the library is not loaded and nobody has set it.
SELECT (extract(epoch FROM coalesce(nullif(current_setting('shardid.max_drift', true), ''), '10s')::interval) * 1000000)::bigint
