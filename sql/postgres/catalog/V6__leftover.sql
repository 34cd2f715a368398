-- What a move has made, or is about to make, and somebody has to remove.
-- The line is committed before the object exists.

CREATE TABLE shardid.leftover (
    leftover   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    move       bigint NOT NULL REFERENCES shardid.move,
    node       text NOT NULL REFERENCES shardid.node,
    kind       text NOT NULL CHECK (kind IN ('publication', 'slot', 'subscription', 'schema', 'fence')),
    name       text NOT NULL,
    made_at    timestamptz NOT NULL DEFAULT now(),
    removed_at timestamptz,
    UNIQUE (node, kind, name, move)
);

COMMENT ON TABLE shardid.leftover IS 'shardid: objects of moves that will have to be removed';

REVOKE ALL ON shardid.leftover FROM PUBLIC;
