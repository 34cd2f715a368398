-- How far the reader of a slot ($1) is behind a position ($2), or behind what is
-- written now; whether there is a reader; up to where it has read; and whether the slot is lost for good.
SELECT greatest(0, pg_wal_lsn_diff(coalesce($2::text::pg_lsn, pg_current_wal_insert_lsn()), confirmed_flush_lsn))::bigint AS bytes,
       active,
       pg_wal_lsn_diff(confirmed_flush_lsn, '0/0')::bigint AS position,
       is_lost
  FROM slot
 WHERE name = $1
