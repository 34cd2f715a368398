COMMENT ON COLUMN shardid.move.shape IS 'a fingerprint of the schema as it was when it was copied: a hash and a name for each object';
