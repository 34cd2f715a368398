-- Which shard lives on which node. The channel shardid_map tells of a change.

CREATE TABLE shardid.map (
    shard       integer PRIMARY KEY CHECK (shard >= 0),
    node        text NOT NULL REFERENCES shardid.node,
    map_version bigint NOT NULL CHECK (map_version > 0)
);

CREATE INDEX map_node_idx ON shardid.map (node);

COMMENT ON TABLE shardid.map IS 'shardid: which shard lives on which node';
COMMENT ON COLUMN shardid.map.map_version IS 'the version of the map that put the shard there';

REVOKE ALL ON shardid.map FROM PUBLIC;
GRANT SELECT ON shardid.map TO PUBLIC;
