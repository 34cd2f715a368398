-- Which server the new node was, and on which timeline, when the old copy began to follow it: after a
-- promotion or a restore that node may have lost what the copy still has.

ALTER TABLE shardid.move ADD COLUMN seal_system_identifier bigint, ADD COLUMN seal_timeline bigint;

COMMENT ON COLUMN shardid.move.seal_system_identifier IS 'the server that the position seal is of';
COMMENT ON COLUMN shardid.move.seal_timeline IS 'the timeline that the position seal is of';
