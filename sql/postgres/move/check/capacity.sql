-- What moves take of this server for as long as they last, and their old copies follow:
-- each setting that bounds it, how much that is, and how much is taken now.
SELECT name, current_setting(name)::bigint AS most, taken
  FROM (VALUES
    ('max_logical_replication_workers',
     (SELECT count(*) FROM pg_stat_subscription WHERE pid IS NOT NULL)),
    -- Whatever runs for a while beside the server's own processes and its clients.
    ('max_worker_processes',
     (SELECT count(*) FROM pg_stat_activity
       WHERE backend_type NOT IN ('client backend', 'walsender', 'walreceiver', 'checkpointer',
           'background writer', 'walwriter', 'startup', 'archiver', 'autovacuum launcher',
           'autovacuum worker', 'slotsync worker', 'walsummarizer', 'io worker'))),
    ('max_replication_slots', (SELECT count(*) FROM pg_replication_slots)),
    ('max_wal_senders', (SELECT count(*) FROM pg_stat_replication))) AS bounds(name, taken)
