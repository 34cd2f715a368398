-- The tags of segments that were handed out here.
SELECT CAST(biz_tag AS CHAR) AS tag FROM shardid.segment WHERE max_id > 0 ORDER BY biz_tag
