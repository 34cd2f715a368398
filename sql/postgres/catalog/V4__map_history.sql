-- Every change of the map: when, by whom, and what.

CREATE TABLE shardid.map_history (
    map_version bigint PRIMARY KEY CHECK (map_version > 0),
    changed_at  timestamptz NOT NULL DEFAULT now(),
    changed_by  text NOT NULL,
    role        name NOT NULL DEFAULT session_user,
    change      text NOT NULL
);

COMMENT ON TABLE shardid.map_history IS 'shardid: every change of shardid.map';
COMMENT ON COLUMN shardid.map_history.changed_by IS 'user and machine that ran the program';
COMMENT ON COLUMN shardid.map_history.role IS 'the database role it connected as';

REVOKE ALL ON shardid.map_history FROM PUBLIC;
