-- Only one program changes a server at a time: 1, or 0 after the wait, in seconds.
SELECT get_lock('shardid.cluster', ?)
