-- Whatever is still of another server is handed out here from now on.
CALL shardid.adopt()
