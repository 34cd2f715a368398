-- The journal of moves: a line is written here before anything is done.

CREATE TABLE shardid.move (
    move        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shard       integer NOT NULL CHECK (shard >= 0),
    source      text NOT NULL REFERENCES shardid.node,
    target      text NOT NULL REFERENCES shardid.node,
    state       text NOT NULL DEFAULT 'planned' CHECK (state IN (
        'planned', 'copying', 'following', 'fenced', 'switched', 'done', 'aborting', 'aborted')),
    planned_at  timestamptz NOT NULL DEFAULT now(),
    planned_by  text NOT NULL,
    state_since timestamptz NOT NULL DEFAULT now(),
    CHECK (source <> target)
);

-- A shard is in one move at a time.
CREATE UNIQUE INDEX move_under_way_idx ON shardid.move (shard) WHERE state NOT IN ('done', 'aborted');

COMMENT ON TABLE shardid.move IS 'shardid: the journal of moves';

REVOKE ALL ON shardid.move FROM PUBLIC;
