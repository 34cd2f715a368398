-- What moves take of this server for as long as they last, and their old copies follow: of what there
-- is a bound, the setting, how much that is, how much is kept for others, and how much is taken now.
SELECT bound, name, current_setting(name)::bigint AS most, coalesce(reserved, 0)::bigint AS reserved, taken
  FROM (VALUES
    ('workers', 'max_logical_replication_workers', 0,
     (SELECT count(*) FROM pg_stat_subscription WHERE pid IS NOT NULL)),
    -- Whatever runs for a while beside the server's own processes and its clients.
    ('processes', 'max_worker_processes', 0,
     (SELECT count(*) FROM pg_stat_activity
       WHERE backend_type NOT IN ('client backend', 'walsender', 'walreceiver', 'checkpointer',
           'background writer', 'walwriter', 'startup', 'archiver', 'autovacuum launcher',
           'autovacuum worker', 'slotsync worker', 'walsummarizer', 'io worker'))),
    ('slots', 'max_replication_slots', 0, (SELECT count(*) FROM pg_replication_slots)),
    ('senders', 'max_wal_senders', 0, (SELECT count(*) FROM pg_stat_replication)),
    -- Where changes come from, each in a place in memory, which only a superuser may look at: there are no more in
    -- use than are known. Before version 18 there are as many places as slots.
    ('origins', CASE WHEN current_setting('max_active_replication_origins', true) IS NULL
                     THEN 'max_replication_slots' ELSE 'max_active_replication_origins' END, 0,
     (SELECT count(*) FROM pg_replication_origin)),
    -- Those that send WAL have places of their own. This session ends before a move begins.
    ('connections', 'max_connections',
     current_setting('superuser_reserved_connections')::integer
         + coalesce(current_setting('reserved_connections', true)::integer, 0),
     (SELECT count(*) FROM pg_stat_activity
       WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()))) AS bounds (bound, name, reserved, taken)
