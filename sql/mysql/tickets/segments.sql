-- The tags of segments of this server. One that has given nothing yet may have, since a backup.
SELECT CAST(biz_tag AS CHAR) AS tag FROM shardid.segment ORDER BY biz_tag
