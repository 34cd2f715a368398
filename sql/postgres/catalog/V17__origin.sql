-- What the source was when the copy of the shard began: after a promotion or a restore it may lack what the
-- copy has, which is not dropped then.

ALTER TABLE shardid.move
    ADD COLUMN origin_system_identifier bigint,
    ADD COLUMN origin_timeline bigint,
    ADD COLUMN origin_database bigint;

COMMENT ON COLUMN shardid.move.origin_system_identifier IS 'the server that the source was when the copy began';
COMMENT ON COLUMN shardid.move.origin_timeline IS 'the timeline of that server then';
COMMENT ON COLUMN shardid.move.origin_database IS 'the number of the source''s database on that server';
