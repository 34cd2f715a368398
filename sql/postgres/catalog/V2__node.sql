-- The nodes of the cluster. Addresses stand in the cluster file alone: they
-- depend on where one looks from, and passwords stand nowhere.

CREATE TABLE shardid.node (
    node              text PRIMARY KEY CHECK (node <> ''),
    weight            integer NOT NULL CHECK (weight >= 0),
    system_identifier bigint NOT NULL,
    database          text NOT NULL,
    joined_at         timestamptz NOT NULL DEFAULT now(),
    joined_by         text NOT NULL,
    UNIQUE (system_identifier, database) DEFERRABLE INITIALLY DEFERRED
);

COMMENT ON TABLE shardid.node IS 'shardid: the nodes of the cluster';
COMMENT ON COLUMN shardid.node.weight IS 'its share of the shards, against the weights of the others; 0 is none';
COMMENT ON COLUMN shardid.node.system_identifier IS 'the server it was when it joined; another one is refused until adopted';

REVOKE ALL ON shardid.node FROM PUBLIC;
GRANT SELECT ON shardid.node TO PUBLIC;
