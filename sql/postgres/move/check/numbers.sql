-- The highest number of a move that something here is named after: a publication, a slot, a
-- subscription, or the role of one. Where somebody else may have made it, no number beyond all reason.
SELECT coalesce(max(substring(here.name from format('^shardid_(?:move|back)_([0-9]{1,%s})$', CASE WHEN here.is_ours THEN 18 ELSE 9 END))::bigint), 0) AS highest
  FROM (SELECT p.pubname::text, o.rolsuper FROM pg_publication p JOIN pg_roles o ON o.oid = p.pubowner
        UNION ALL SELECT slot_name::text, true FROM pg_replication_slots
        UNION ALL SELECT subname::text, true FROM pg_subscription
        UNION ALL SELECT rolname::text, rolbypassrls FROM pg_roles) AS here (name, is_ours)
