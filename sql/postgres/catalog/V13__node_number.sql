-- A node keeps its number whatever it is called; a name may be that of another one later.

ALTER TABLE shardid.node ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY UNIQUE;

COMMENT ON COLUMN shardid.node.number IS 'what the node is called in the journal of moves, by whichever name it goes';

ALTER TABLE shardid.map
    DROP CONSTRAINT map_node_fkey,
    ADD CONSTRAINT map_node_fkey FOREIGN KEY (node) REFERENCES shardid.node ON UPDATE CASCADE;

-- Without a number: of a node that was removed before it had one.
ALTER TABLE shardid.move ADD COLUMN source_number bigint, ADD COLUMN target_number bigint;

UPDATE shardid.move AS m
   SET source_number = (SELECT n.number FROM shardid.node n WHERE n.node = m.source),
       target_number = (SELECT n.number FROM shardid.node n WHERE n.node = m.target);

COMMENT ON COLUMN shardid.move.source_number IS 'the node that source is the name of';
COMMENT ON COLUMN shardid.move.target_number IS 'the node that target is the name of';
