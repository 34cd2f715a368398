-- When each move came into each state, as often as it did.

CREATE TABLE shardid.move_log (
    move  bigint NOT NULL REFERENCES shardid.move,
    state text NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX move_log_move_idx ON shardid.move_log (move);

COMMENT ON TABLE shardid.move_log IS 'shardid: how long each move was in each state';

REVOKE ALL ON shardid.move_log FROM PUBLIC;
