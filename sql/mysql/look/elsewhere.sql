-- What is of another server than this one, whether shardid.adopt() takes it, and whether it is a ticket
-- without gaps, which it does not take; nor what has no room for the numbers that it leaves out. What
-- was ended for this server hands out nothing.
SELECT 'ticket' AS what, t.name, NOT t.gapless
    AND t.last_ticket + 1000000 * t.servers <= least(t.max_ticket, coalesce(t.ceiling - 1, t.max_ticket)) AS is_taken,
    t.gapless AS is_gapless
FROM shardid.ticket t
WHERE NOT t.home <=> shardid.here() AND NOT coalesce(t.last_ticket + 1 >= t.ceiling, FALSE)
UNION ALL
SELECT 'segment tag', s.biz_tag, s.max_id <= 9223372036854775807 - greatest(1000000, 100 * s.step), FALSE
FROM shardid.segment s WHERE NOT s.home <=> shardid.here()
UNION ALL
SELECT 'shards', '', TRUE, FALSE FROM DUAL
WHERE EXISTS (SELECT 1 FROM shardid.shard s WHERE NOT s.home <=> shardid.here())
   OR EXISTS (SELECT 1 FROM shardid.server v WHERE NOT v.home <=> shardid.here())
