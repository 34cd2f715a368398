-- Only one program changes a cluster at a time. The number spells "shardid".
SELECT pg_try_advisory_lock(32484390062025060) AS got_it
