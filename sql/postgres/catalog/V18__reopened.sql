-- When the old node of a switched move was found open, as after a promotion without its fence: what was written there
-- is there alone, and the old copy is not dropped without a word.

ALTER TABLE shardid.move ADD COLUMN reopened_at timestamptz;

COMMENT ON COLUMN shardid.move.reopened_at IS 'when the source was found open behind the fence, and was closed once more';
