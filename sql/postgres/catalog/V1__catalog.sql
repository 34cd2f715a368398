-- One row: which cluster this catalogue is about, and how often its map changed.
-- The row is there from the beginning; the cluster is NULL until one is made.

CREATE TABLE shardid.catalog (
    only_one    boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    cluster     text,
    layout      text,
    shards      integer CHECK (shards > 0),
    map_version bigint NOT NULL DEFAULT 0 CHECK (map_version >= 0),
    program     text NOT NULL DEFAULT '0.1.0',
    CHECK ((cluster IS NULL) = (map_version = 0)),
    CHECK ((cluster IS NULL) = (layout IS NULL)),
    CHECK ((cluster IS NULL) = (shards IS NULL))
);

INSERT INTO shardid.catalog DEFAULT VALUES;

COMMENT ON TABLE shardid.catalog IS 'shardid: the cluster that this catalogue is about';
COMMENT ON COLUMN shardid.catalog.map_version IS 'grows by one with each change of shardid.map';
COMMENT ON COLUMN shardid.catalog.program IS 'the program that last brought these tables up to date; an older one refuses';

COMMENT ON TABLE shardid.catalog_history IS 'shardid: the changes that were made to these tables, by refinery';

REVOKE ALL ON shardid.catalog FROM PUBLIC;
GRANT SELECT ON shardid.catalog TO PUBLIC;
