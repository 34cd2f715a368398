-- Has a subscription ($1) that is not yet at work begin at a position ($2). The
-- slot knows it too, but a slot that was advanced forgets it in a crash.
SELECT pg_replication_origin_advance(format('pg_%s', s.oid), $2::pg_lsn)::text
  FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid
 WHERE s.subname = $1 AND d.datname = current_database() AND NOT s.subenabled
