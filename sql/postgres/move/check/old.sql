-- Transactions of more than ten seconds that have written, anywhere on this server: what a new slot waits for.
WITH writing AS (
    SELECT a.xact_start AS since
      FROM pg_stat_activity a
     WHERE a.backend_xid IS NOT NULL
    UNION ALL
    SELECT p.prepared FROM pg_prepared_xacts p
)
SELECT count(*) AS transactions, coalesce(max(extract(epoch FROM clock_timestamp() - since)), 0)::bigint AS seconds
  FROM writing
 WHERE since < clock_timestamp() - interval '10 s'
