-- The journal of moves: a line is written here before anything is done.

CREATE TABLE shardid.move (
    move        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shard       integer NOT NULL CHECK (shard >= 0),
    source      text NOT NULL REFERENCES shardid.node,
    target      text NOT NULL REFERENCES shardid.node,
    kind        text NOT NULL DEFAULT 'copy' CHECK (kind IN ('copy', 'rollback')),
    rollback_of bigint REFERENCES shardid.move,
    schema      text NOT NULL,
    way_back    boolean NOT NULL,
    state       text NOT NULL DEFAULT 'planned' CHECK (state IN (
        'planned', 'copying', 'following', 'fenced', 'switched', 'done', 'aborting', 'aborted')),
    shape       text,
    seal        text,
    planned_at  timestamptz NOT NULL DEFAULT now(),
    planned_by  text NOT NULL,
    state_since timestamptz NOT NULL DEFAULT now(),
    retired_at  timestamptz,
    CHECK (source <> target),
    CHECK ((kind = 'rollback') = (rollback_of IS NOT NULL))
);

-- A shard is in one move at a time.
CREATE UNIQUE INDEX move_under_way_idx ON shardid.move (shard) WHERE state NOT IN ('done', 'aborted');

COMMENT ON TABLE shardid.move IS 'shardid: the journal of moves';
COMMENT ON COLUMN shardid.move.kind IS 'copy: the target gets a new copy; rollback: it is the old copy of an earlier move';
COMMENT ON COLUMN shardid.move.way_back IS 'whether the old copy follows the new one until it is retired';
COMMENT ON COLUMN shardid.move.shape IS 'a hash of the tables as they were when they were copied';
COMMENT ON COLUMN shardid.move.seal IS 'the position on the target from which on the old copy follows';
COMMENT ON COLUMN shardid.move.retired_at IS 'when the old copy was dropped';

REVOKE ALL ON shardid.move FROM PUBLIC;
