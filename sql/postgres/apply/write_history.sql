-- Notes who changed the map.
INSERT INTO shardid.map_history (map_version, changed_by, change) VALUES ($1, $2, $3)
