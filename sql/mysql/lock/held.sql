-- Whether the lock is still this session's.
SELECT coalesce(is_used_lock('shardid.cluster') = connection_id(), 0)
