-- shardid.max_jump in microseconds, no row where any jump is taken; its default where the library is not loaded and nobody has set it.
SELECT (extract(epoch FROM jump) * 1000000)::bigint
  FROM (SELECT coalesce(nullif(current_setting('shardid.max_jump', true), ''), '1h')) AS s (setting)
 CROSS JOIN LATERAL (SELECT CASE WHEN setting <> '-1' THEN setting::interval END) AS j (jump)
 WHERE jump IS NOT NULL
