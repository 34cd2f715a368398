-- How many milliseconds each of these moves ($1) was in each state, in order.
SELECT move, state, (1000 * extract(epoch FROM
           coalesce(lead(since) OVER (PARTITION BY move ORDER BY since), clock_timestamp()) - since
       ))::bigint AS ms
  FROM shardid.move_log
 WHERE move = ANY ($1)
 ORDER BY move, since
