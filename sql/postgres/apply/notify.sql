-- Tells whoever listens which version the map has now.
SELECT pg_notify('shardid_map', $1::bigint::text)
