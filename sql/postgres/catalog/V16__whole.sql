-- What the new node was when all rows of the shard had come to it, and how the source's sequences were
-- then: where it has lost some since, as by a promotion or a restore, it is not opened, and the move goes back.

ALTER TABLE shardid.move
    ADD COLUMN whole_system_identifier bigint,
    ADD COLUMN whole_timeline bigint,
    ADD COLUMN whole_database bigint,
    ADD COLUMN whole_position bigint,
    ADD COLUMN rules text,
    ADD COLUMN open_begun_at timestamptz;

COMMENT ON COLUMN shardid.move.whole_system_identifier IS 'the server that the target was when it had all rows, before the switch';
COMMENT ON COLUMN shardid.move.whole_timeline IS 'the timeline of that server then';
COMMENT ON COLUMN shardid.move.whole_database IS 'the number of the target''s database on that server';
COMMENT ON COLUMN shardid.move.whole_position IS 'up to where all of it was on disk there';
COMMENT ON COLUMN shardid.move.rules IS 'statements that give the source''s sequences the bounds that they had then';
COMMENT ON COLUMN shardid.move.open_begun_at IS 'when the target was about to be opened; before that nobody has written there';
