-- Who holds the lock.
SELECT CAST(p.id AS SIGNED) AS id, CAST(concat(p.user, '@', p.host) AS CHAR) AS who
FROM information_schema.processlist p WHERE p.id = is_used_lock('shardid.cluster')
