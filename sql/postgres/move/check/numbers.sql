-- The highest number of a move that something here is named after: a publication, a slot, a
-- subscription, or the role of one.
SELECT coalesce(max(substring(here.name from '^shardid_(?:move|back)_([0-9]{1,18})$')::bigint), 0) AS highest
  FROM (SELECT pubname::text FROM pg_publication
        UNION ALL SELECT slot_name::text FROM pg_replication_slots
        UNION ALL SELECT subname::text FROM pg_subscription
        UNION ALL SELECT rolname::text FROM pg_roles) AS here (name)
